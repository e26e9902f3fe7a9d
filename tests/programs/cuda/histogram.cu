// Histogram of bytes: every block counts its share in shared memory with atomics, then adds its bins to the result with atomics.
constexpr int BINS = 256;

extern "C" __global__ void histogram(const unsigned char* values, unsigned* bins, int n) {
    __shared__ unsigned counts[BINS];
    for (int bin = threadIdx.x; bin < BINS; bin += blockDim.x) counts[bin] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&counts[values[i]], 1);
    __syncthreads();
    for (int bin = threadIdx.x; bin < BINS; bin += blockDim.x)
        if (counts[bin]) atomicAdd(&bins[bin], counts[bin]);
}
