// perf.occupancy
//
// Finds: A launch of whose warps a multiprocessor holds less than a quarter of what it
// could: the block's shared memory or size leave no room for more. Where its registers do
// not, less than an eighth.
//
// Why: While one warp waits for memory, others compute. With few of them the
// multiprocessor waits too, unless each thread has much to do at a time.
//
// Fix: Smaller tiles or more threads for the same tile where shared memory or registers
// limit; larger blocks where the number of blocks does.

// tilewise: --grid 1 --arg 'x=f32[8192]:arange' --arg 'y=f32[8192]'

// tilewise: --kernel bad --block 64
extern "C" __global__ void bad(const float* x, float* y) {
    __shared__ float line[8192];
    for (int i = threadIdx.x; i < 8192; i += blockDim.x) line[i] = x[i];
    __syncthreads();
    for (int i = threadIdx.x; i < 8192; i += blockDim.x) y[i] = line[8191 - i];
}

// tilewise: --kernel fixed --block 512
extern "C" __global__ void fixed(const float* x, float* y) {
    __shared__ float line[8192];
    for (int i = threadIdx.x; i < 8192; i += blockDim.x) line[i] = x[i];
    __syncthreads();
    for (int i = threadIdx.x; i < 8192; i += blockDim.x) y[i] = line[8191 - i];
}
