// tilewise: --grid 8 --block 128 --arg x=s32[1024]:uniform(-50,50) --arg parts=s32[8] --arg drawn=u32[1]:zeros --arg y=s32[1]
// The block that draws the last ticket adds up, and sets the counter back without an atomic: nobody else is left to draw.
extern "C" __global__ void total(const int* x, volatile int* parts, unsigned* drawn, int* y) {
    __shared__ int sums[4];
    __shared__ bool is_last;
    const int warp = threadIdx.x / 32, sum = __reduce_add_sync(0xffffffff, x[128 * blockIdx.x + threadIdx.x]);
    if (threadIdx.x % 32 == 0) sums[warp] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        parts[blockIdx.x] = sums[0] + sums[1] + sums[2] + sums[3];
        __threadfence();
        // broken: is_last = atomicAdd(drawn, 1u) >= gridDim.x - 2;
        is_last = atomicAdd(drawn, 1u) == gridDim.x - 1;
    }
    __syncthreads();
    if (is_last && threadIdx.x == 32) {
        int all = 0;
        for (unsigned i = 0; i < gridDim.x; ++i) all += parts[i];
        *y = all;
        *drawn = 0;
    }
}
