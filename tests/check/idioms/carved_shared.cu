// Dynamic shared memory, carved up by hand: floats first, integers behind them, bytes last.
// tilewise: --grid 2 --block n --smem 9*n --arg x=f32[2,n]:normal --arg y=f32[2,n] --arg n=96
extern "C" __global__ void carve(const float* x, float* y, int n) {
    extern __shared__ float4 memory[];
    float* values = reinterpret_cast<float*>(memory);
    // broken: int* places = reinterpret_cast<int*>(values + n / 2);
    int* places = reinterpret_cast<int*>(values + n);
    char* signs = reinterpret_cast<char*>(places + n);
    const int t = threadIdx.x;
    const float v = x[blockIdx.x * n + t];
    values[t] = fabsf(v);
    places[t] = (t + 17) % n;
    signs[t] = v < 0.0f;
    __syncthreads();
    const int from = places[n - 1 - t];
    y[blockIdx.x * n + t] = signs[from] ? -values[from] : values[from];
}
