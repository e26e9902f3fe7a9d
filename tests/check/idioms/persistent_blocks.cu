// Blocks draw rows until none is left: the thread that stores a sum goes on to draw, and meets the others at the barrier.
// tilewise: --grid 4 --block 64 --arg x=f32[n,64]:normal --arg y=f32[n] --arg drawn=s32[1]:zeros --arg n=21
extern "C" __global__ void sum_rows(const float* x, float* y, int* drawn, int n) {
    __shared__ int next;
    __shared__ float parts[2];
    for (;;) {
        if (threadIdx.x == 0) next = atomicAdd(drawn, 1);
        __syncthreads();
        const int row = next;
        if (row >= n) return;
        float v = x[row * 64 + threadIdx.x];
        for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(0xffffffffu, v, d);
        if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = v;
        // broken:
        __syncthreads();
        if (threadIdx.x == 0) y[row] = parts[0] + parts[1];
    }
}
