// barrier.divergence
//
// Finds: Threads that wait at a barrier to which others of their block do not come, or a
// warp that comes to a barrier in parts while the missing lanes are still at work. Where
// all missing threads have left the kernel it is a note: GPUs of compute capability 7.0
// and up do not wait for those.
//
// Why: The kernel hangs, or passes the barrier without the threads that it was for. The
// manual leaves open which.
//
// Fix: Move the barrier out of the branch, so that all threads of the block come to it;
// guard the loads and stores instead.

// tilewise: --grid 1 --block 64 --arg 'x=f32[64]:arange' --arg 'y=f32[64]'

// tilewise: --kernel bad
extern "C" __global__ void bad(const float* x, float* y) {
    __shared__ float tile[64];
    float value = x[threadIdx.x];
    if (threadIdx.x % 32 < 16) {
        tile[threadIdx.x] = value;
        __syncthreads();
        value += tile[threadIdx.x ^ 32];
    }
    __syncthreads();
    y[threadIdx.x] = value;
}

// tilewise: --kernel fixed
extern "C" __global__ void fixed(const float* x, float* y) {
    __shared__ float tile[64];
    float value = x[threadIdx.x];
    if (threadIdx.x % 32 < 16) tile[threadIdx.x] = value;
    __syncthreads();
    if (threadIdx.x % 32 < 16) value += tile[threadIdx.x ^ 32];
    y[threadIdx.x] = value;
}
