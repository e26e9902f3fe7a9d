// As many float32 multiply-adds a second as the GPU gives: every thread keeps sixteen independent chains in registers.

constexpr int CHAINS = 16, UNROLLED = 16;

extern "C" __global__ void __launch_bounds__(256) fma_peak(float* sums, int rounds, float factor, float term) {
    float chain[CHAINS];
#pragma unroll
    for (int i = 0; i < CHAINS; ++i) chain[i] = threadIdx.x + i;
#pragma unroll 1
    for (int round = 0; round < rounds; ++round)
#pragma unroll
        for (int step = 0; step < UNROLLED; ++step)
#pragma unroll
            for (int i = 0; i < CHAINS; ++i) chain[i] = chain[i] * factor + term;
    float sum = 0;
#pragma unroll
    for (int i = 0; i < CHAINS; ++i) sum += chain[i];
    sums[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
