// A sum over the block: shuffles within each warp, then over the warps' sums by the first of them.
// tilewise: --grid 4 --block 256 --arg x=f32[4,256]:normal --arg y=f32[4]
extern "C" __global__ void sum_rows(const float* x, float* y) {
    __shared__ float sums[8];
    const int t = threadIdx.x;
    float v = x[blockIdx.x * 256 + t];
    for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(0xffffffffu, v, d);
    if (t % 32 == 0) sums[t / 32] = v;
    // broken:
    __syncthreads();
    if (t >= 32) return;
    v = t < 8 ? sums[t] : 0.0f;
    for (int d = 4; d > 0; d /= 2) v += __shfl_xor_sync(0xffffffffu, v, d);
    if (t == 0) y[blockIdx.x] = v;
}
