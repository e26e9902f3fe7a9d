// Warps pass a running sum along, each waiting for the volatile flag of the one before it.
// tilewise: --grid 2 --block 128 --arg x=s32[2,4]:uniform(-20,20) --arg y=s32[2,4]
extern "C" __global__ void running_sum(const int* x, int* y) {
    __shared__ int sums[4];
    __shared__ volatile int done[4];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    if (lane == 0) done[warp] = 0;
    __syncthreads();
    if (lane == 0) {
        int before = 0;
        if (warp > 0) {
            while (done[warp - 1] == 0) {
            }
            __threadfence_block();
            before = sums[warp - 1];
        }
        sums[warp] = before + x[blockIdx.x * 4 + warp];
        // broken:
        __threadfence_block();
        done[warp] = 1;
        y[blockIdx.x * 4 + warp] = before + x[blockIdx.x * 4 + warp];
    }
}
