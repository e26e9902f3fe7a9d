// async.cp_async_wait
//
// Finds: An access to shared memory that cp.async writes, before the copying thread
// waited for the copy, or by another thread without a barrier after that wait.
//
// Why: cp.async only begins a copy. What is read before it has ended is what stood there
// before. In a pipeline, wait_group counts groups: where the last turns commit no group,
// an empty one must keep the count right.
//
// Fix: cp.async.wait_group (or __pipeline_wait_prior) by the copying threads, and then a
// barrier for the others.

// tilewise: --grid 1 --block 64 --arg 'x=f32[64]:arange' --arg 'y=f32[64]'

// tilewise: --kernel bad
extern "C" __global__ void bad(const float* x, float* y) {
    __shared__ float tile[64];
    const unsigned to = (unsigned)__cvta_generic_to_shared(tile + threadIdx.x);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to),
                 "l"(x + threadIdx.x)
                 : "memory");
    asm volatile("cp.async.commit_group;" ::: "memory");
    __syncthreads();
    y[threadIdx.x] = tile[63 - threadIdx.x];
}

// tilewise: --kernel fixed
extern "C" __global__ void fixed(const float* x, float* y) {
    __shared__ float tile[64];
    const unsigned to = (unsigned)__cvta_generic_to_shared(tile + threadIdx.x);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to),
                 "l"(x + threadIdx.x)
                 : "memory");
    asm volatile("cp.async.commit_group;" ::: "memory");
    asm volatile("cp.async.wait_group 0;" ::: "memory");
    __syncthreads();
    y[threadIdx.x] = tile[63 - threadIdx.x];
}
