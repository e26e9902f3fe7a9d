// Fills an array with random numbers of mean 0 and variance 1, nearly normal: the sum of four uniform ones.
//
// Number i depends on i and the seed alone: 64 bits of SplitMix64 [Steele, Lea and Flood, Fast Splittable Pseudorandom Number
// Generators, 2014], sixteen for each of the four.

extern "C" __global__ void __launch_bounds__(256) draw_normal(float* values, long long count, unsigned long long seed) {
    const long long step = (long long)gridDim.x * blockDim.x;
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
        unsigned long long bits = (seed * 0x100000001b3ull + i + 1) * 0x9e3779b97f4a7c15ull;
        bits = (bits ^ bits >> 30) * 0xbf58476d1ce4e5b9ull;
        bits = (bits ^ bits >> 27) * 0x94d049bb133111ebull;
        bits ^= bits >> 31;
        const unsigned sum = unsigned(bits & 0xffff) + unsigned(bits >> 16 & 0xffff) + unsigned(bits >> 32 & 0xffff) + unsigned(bits >> 48);
        values[i] = (float(sum) - 131070.0f) * 2.6429e-5f;  // the sum's mean is 2 (2^16 - 1), its variance (2^32 - 1) / 3
    }
}
