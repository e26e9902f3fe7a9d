// barrier.count
//
// Finds: A named barrier (bar.sync or bar.arrive with a number of threads) to which fewer
// threads come than it says, so that those who wait there never go on.
//
// Why: The kernel hangs. The number counts all that come, those that only arrive
// included, in whole warps.
//
// Fix: Give the barrier the number of threads that come to it.

// tilewise: --grid 1 --block 96 --arg 'x=f32[64]:arange' --arg 'y=f32[64]'

// tilewise: --kernel bad
extern "C" __global__ void bad(const float* x, float* y) {
    __shared__ float tile[64];
    if (threadIdx.x >= 64) return;
    tile[threadIdx.x] = x[threadIdx.x];
    asm volatile("bar.sync 1, 96;" ::: "memory");
    y[threadIdx.x] = tile[63 - threadIdx.x];
}

// tilewise: --kernel fixed
extern "C" __global__ void fixed(const float* x, float* y) {
    __shared__ float tile[64];
    if (threadIdx.x >= 64) return;
    tile[threadIdx.x] = x[threadIdx.x];
    asm volatile("bar.sync 1, 64;" ::: "memory");
    y[threadIdx.x] = tile[63 - threadIdx.x];
}
