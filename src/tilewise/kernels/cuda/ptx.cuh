// One function an instruction, named as the PTX manual names it. Inline assembly stands nowhere else.
#pragma once

__device__ __forceinline__ unsigned shared_address(const void* shared) { return unsigned(__cvta_generic_to_shared(shared)); }

// Copies 4 bytes through L1, without a register; of them the first `bytes` come from `global`, the others are zeros.
__device__ __forceinline__ void cp_async_ca_4(void* shared, const void* global, int bytes) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(shared_address(shared)), "l"(__cvta_generic_to_global(global)),
                 "r"(bytes)
                 : "memory");
}

// Copies 16 bytes past L1; both addresses are multiples of 16.
__device__ __forceinline__ void cp_async_cg_16(void* shared, const void* global, int bytes) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(shared)), "l"(__cvta_generic_to_global(global)),
                 "r"(bytes)
                 : "memory");
}

// The same copies of all bytes, to a shared address.
__device__ __forceinline__ void cp_async_ca_4(unsigned shared, const void* global) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(shared), "l"(__cvta_generic_to_global(global)) : "memory");
}

__device__ __forceinline__ void cp_async_cg_16(unsigned shared, const void* global) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared), "l"(__cvta_generic_to_global(global)) : "memory");
}

// Loads four words from a shared address.
__device__ __forceinline__ void ld_shared_16(float* four, unsigned shared) {
    asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(four[0]), "=f"(four[1]), "=f"(four[2]), "=f"(four[3])
                 : "r"(shared)
                 : "memory");
}

// The value itself, which the compiler can then neither derive anew from what it came from nor fold into what follows.
template <typename Value>
__device__ __forceinline__ Value opaque(Value value) {
    if constexpr (sizeof(Value) == 8)
        asm volatile("" : "+l"(value));
    else
        asm volatile("" : "+r"(value));
    return value;
}

// Makes one group of this thread's copies since the last.
__device__ __forceinline__ void cp_async_commit_group() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// Waits until at most PENDING of this thread's groups are on their way. What other threads copied takes a barrier besides.
template <int PENDING>
__device__ __forceinline__ void cp_async_wait_group() {
    asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
}
