// A pointer to the last element and a stride of -1: addresses run backwards, within the array.
// tilewise: --grid 2 --block 128 --arg x=f32[n]:normal --arg y=f32[n] --arg n=200 --arg stride=-1
extern "C" __global__ void reverse(const float* x, float* y, int n, int stride) {
    // broken: const float* last = x + n;
    const float* last = x + (n - 1);
    const int i = blockIdx.x * 128 + threadIdx.x;
    if (i < n) y[i] = last[i * stride];
}
