// Behind the last barrier only the first warp goes on; what it reads nobody writes any more.
// tilewise: --grid 2 --block 128 --arg x=f32[2,128]:normal --arg y=f32[2]
extern "C" __global__ void sum_rows(const float* x, float* y) {
    __shared__ float s[128];
    const int t = threadIdx.x;
    s[t] = x[blockIdx.x * 128 + t];
    __syncthreads();
    if (t < 64) s[t] += s[t + 64];
    __syncthreads();
    if (t >= 32) return;
    // broken: float v = (s[t] += s[t + 32]) + s[t ^ 1];
    float v = s[t] + s[t + 32];
    for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(0xffffffffu, v, d);
    if (t == 0) y[blockIdx.x] = v;
}
