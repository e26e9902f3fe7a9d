// perf.barrier
//
// Finds: A barrier that was passed and ordered no two accesses to one byte which nothing
// else orders: without it nothing changes, in this launch.
//
// Why: All warps of the block wait there for the slowest.
//
// Fix: Leave it out, if the same holds for every launch.

// tilewise: --grid 1 --block 128 --arg 'x=f32[128]:arange' --arg 'y=f32[128]'

// tilewise: --kernel bad
extern "C" __global__ void bad(const float* x, float* y) {
    const float value = 2 * x[threadIdx.x];
    __syncthreads();
    y[threadIdx.x] = value;
}

// tilewise: --kernel fixed
extern "C" __global__ void fixed(const float* x, float* y) {
    const float value = 2 * x[threadIdx.x];
    y[threadIdx.x] = value;
}
