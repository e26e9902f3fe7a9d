// Fast Fourier transform, radix 2, in shared memory: items are read in bit-reversed order, then log2 N rounds of butterflies.
__device__ float2 product(float2 a, float2 b) { return make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }

// One block a transform of N = 2^bits items; N float2 of dynamic shared memory.
extern "C" __global__ void fft(const float2* in, float2* out, int bits) {
    extern __shared__ float2 items[];
    const int n = 1 << bits;
    const size_t base = (size_t)blockIdx.x << bits;
    for (int i = threadIdx.x; i < n; i += blockDim.x) items[bits ? __brev(i) >> (32 - bits) : 0] = in[base + i];
    __syncthreads();
    for (int half = 1; half < n; half *= 2) {
        for (int i = threadIdx.x; i < n / 2; i += blockDim.x) {
            const int k = i % half, low = i / half * 2 * half + k;
            float2 turn;
            sincospif(-(float)k / half, &turn.y, &turn.x);
            const float2 a = items[low], b = product(items[low + half], turn);
            items[low] = make_float2(a.x + b.x, a.y + b.y);
            items[low + half] = make_float2(a.x - b.x, a.y - b.y);
        }
        __syncthreads();
    }
    for (int i = threadIdx.x; i < n; i += blockDim.x) out[base + i] = items[i];
}
