// Black-Scholes prices of European options: logarithm, exponential, square root, division and the error function.
__device__ float normal_cdf(float x) { return 0.5f * erfcf(-x * 0.70710678f); }

extern "C" __global__ void price(const float* spot, const float* strike, const float* years, float* calls, float* puts, float rate,
                                 float volatility, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float spread = volatility * sqrtf(years[i]);
    const float d1 = (logf(spot[i] / strike[i]) + (rate + 0.5f * volatility * volatility) * years[i]) / spread, d2 = d1 - spread;
    const float discounted = strike[i] * expf(-rate * years[i]);
    calls[i] = spot[i] * normal_cdf(d1) - discounted * normal_cdf(d2);
    puts[i] = discounted * normal_cdf(-d2) - spot[i] * normal_cdf(-d1);
}
