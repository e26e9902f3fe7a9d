// A barrier that counts is a barrier: what stands before it is seen behind it.
// tilewise: --grid 2 --block 128 --arg x=f32[2,128]:normal --arg y=f32[2,128]
extern "C" __global__ void shift(const float* x, float* y) {
    __shared__ float s[128];
    const int t = threadIdx.x;
    const float v = x[blockIdx.x * 128 + t];
    s[t] = v;
    // broken: const int positive = __popc(__ballot_sync(~0u, v > 0.0f));
    const int positive = __syncthreads_count(v > 0.0f);
    y[blockIdx.x * 128 + t] = s[(t + positive) % 128];
}
