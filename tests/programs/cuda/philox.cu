// Philox4x32-10 (Salmon and others, 2011): counter-based random numbers, ten rounds of 32 x 32 -> 64-bit products.
__device__ uint4 philox(uint4 counter, uint2 key) {
    for (int round = 0; round < 10; ++round) {
        const unsigned long long p0 = 0xD2511F53ull * counter.x, p1 = 0xCD9E8D57ull * counter.z;
        counter =
            make_uint4((unsigned)(p1 >> 32) ^ counter.y ^ key.x, (unsigned)p1, (unsigned)(p0 >> 32) ^ counter.w ^ key.y, (unsigned)p0);
        key.x += 0x9E3779B9u;
        key.y += 0xBB67AE85u;
    }
    return counter;
}

extern "C" __global__ void philox_words(const uint4* counters, const uint2* keys, uint4* words, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) words[i] = philox(counters[i], keys[i]);
}

// The usual way to a float in [0, 1): the upper 24 bits.
extern "C" __global__ void philox_uniform(float4* numbers, unsigned long long seed, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const uint4 w = philox(make_uint4(i, 0, 0, 0), make_uint2((unsigned)seed, (unsigned)(seed >> 32)));
    constexpr float step = 1.0f / (1 << 24);
    numbers[i] = make_float4((w.x >> 8) * step, (w.y >> 8) * step, (w.z >> 8) * step, (w.w >> 8) * step);
}
