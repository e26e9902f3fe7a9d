// Two warps write shared memory, pass the barrier and exit; the others read it afterwards.
// tilewise: --grid 2 --block 128 --arg x=f32[2,64]:normal --arg y=f32[2,64]
extern "C" __global__ void double_reversed(const float* x, float* y) {
    __shared__ float s[64];
    const int t = threadIdx.x;
    if (t < 64) s[t] = 2.0f * x[blockIdx.x * 64 + t];
    // broken:
    __syncthreads();
    if (t < 64) return;
    y[blockIdx.x * 64 + t - 64] = s[127 - t];
}
