// What bench_simt.py times: a loop that every lane leaves at another time, and atomic additions to global memory.
extern "C" __global__ void collatz(unsigned* steps, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned long long x = i + 1;
    unsigned count = 0;
    while (x > 1) {
        x = x % 2 ? 3 * x + 1 : x / 2;
        ++count;
    }
    steps[i] = count;
}

// Each thread adds one to `rounds` bins, of a power of two: at random, or (spread 0) always to the first.
extern "C" __global__ void add_to_bins(unsigned* bins, unsigned spread, int rounds) {
    unsigned x = blockIdx.x * blockDim.x + threadIdx.x;
    for (int round = 0; round < rounds; ++round) {
        x = x * 1664525u + 1013904223u;  // Numerical Recipes' generator
        atomicAdd(&bins[x >> 8 & spread], 1u);
    }
}
