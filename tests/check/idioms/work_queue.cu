// Blocks draw rows from a queue: thread 0 takes the next, a barrier before and behind it.
// tilewise: --grid 3 --block 64 --arg x=f32[n,64]:normal --arg y=f32[n,64] --arg next=u32[1]:zeros --arg n=11
extern "C" __global__ void negate_rows(const float* x, float* y, unsigned* next, unsigned n) {
    __shared__ unsigned row;
    for (;;) {
        // broken:
        __syncthreads();
        if (threadIdx.x == 0) row = atomicAdd(next, 1u);
        __syncthreads();
        if (row >= n) return;
        y[row * 64 + threadIdx.x] = -x[row * 64 + threadIdx.x];
    }
}
