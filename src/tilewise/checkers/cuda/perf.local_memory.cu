// perf.local_memory
//
// Finds: A line that accesses local memory: an array of a thread whose index is known
// only at run time, or registers that the assembler had no room for. The machine code's
// stack frame must confirm it.
//
// Why: Local memory lies in global memory. What looks like a register costs a load and a
// store through the L1 cache.
//
// Fix: Unroll loops so that every index is a constant, select with comparisons, or keep
// the array in shared memory.

// tilewise: --grid 1 --block 128 --arg 'x=u8[8,128]:uniform(0,8)' --arg 'y=u32[8,128]'

// tilewise: --kernel bad
extern "C" __global__ void bad(const unsigned char* x, unsigned* y) {
    unsigned counts[8] = {};
    for (int i = 0; i < 8; ++i) counts[x[128 * i + threadIdx.x] % 8] += 1;
    for (int i = 0; i < 8; ++i) y[128 * i + threadIdx.x] = counts[i];
}

// tilewise: --kernel fixed
extern "C" __global__ void fixed(const unsigned char* x, unsigned* y) {
    unsigned counts[8] = {};
#pragma unroll
    for (int i = 0; i < 8; ++i) {
        const int bin = x[128 * i + threadIdx.x] % 8;
#pragma unroll
        for (int j = 0; j < 8; ++j) counts[j] += bin == j;
    }
#pragma unroll
    for (int i = 0; i < 8; ++i) y[128 * i + threadIdx.x] = counts[i];
}
