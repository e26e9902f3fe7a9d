// Threads past the end leave before the barrier; the others read none of their slots.
// tilewise: --grid 3 --block 128 --arg x=f32[300]:normal --arg y=f32[300] --arg n=300
extern "C" __global__ void rotate(const float* x, float* y, int n) {
    __shared__ float s[128];
    const int t = threadIdx.x, i = blockIdx.x * 128 + t;
    if (i >= n) return;
    const int live = min(128, n - int(blockIdx.x) * 128);
    s[t] = x[i];
    __syncthreads();
    // broken: const int from = (t + 5) % 128;
    const int from = (t + 5) % live;
    y[i] = s[from];
}
