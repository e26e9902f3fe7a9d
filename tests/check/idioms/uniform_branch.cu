// A barrier in a branch that all threads of a block take, or none.
// tilewise: --grid 4 --block 64 --arg x=f32[4,64]:normal --arg y=f32[4,64]
extern "C" __global__ void reverse_odd(const float* x, float* y) {
    __shared__ float s[64];
    const int t = threadIdx.x, i = blockIdx.x * 64 + t;
    s[t] = x[i];
    __syncthreads();
    // broken: if (t & 1) {
    if (blockIdx.x & 1) {
        const float v = s[63 - t];
        __syncthreads();
        s[t] = v;
    }
    __syncthreads();
    y[i] = s[t ^ 1];
}
