// One array of partial sums for two reductions in a row: a barrier keeps the second from overwriting what the first warp still reads.
// tilewise: --grid 3 --block 96 --arg x=f32[3,77]:normal --arg y=f32[3] --arg n=77
__device__ float sum_warp(float v) {
    for (int o = 16; o > 0; o /= 2) v += __shfl_down_sync(~0u, v, o);
    return v;
}

__device__ float sum_block(float v, float* partial) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    v = sum_warp(v);
    // broken:
    __syncthreads();
    if (lane == 0) partial[warp] = v;
    __syncthreads();
    v = threadIdx.x < blockDim.x / 32 ? partial[lane] : 0.0f;
    return warp == 0 ? sum_warp(v) : 0.0f;
}

extern "C" __global__ void spread(const float* x, float* y, int n) {
    __shared__ float partial[32];
    const float v = threadIdx.x < n ? x[blockIdx.x * n + threadIdx.x] : 0.0f;
    const float sum = sum_block(v, partial);
    const float squares = sum_block(v * v, partial);
    if (threadIdx.x == 0) y[blockIdx.x] = squares - sum * sum / n;
}
