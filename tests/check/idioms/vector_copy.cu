// A copy whose ends are no multiples of 16 bytes: single words up to the first, then float4s, then what is left.
// tilewise: --grid 2 --block 64 --arg x=f32[1003]:normal --arg y=f32[1003]:zeros --arg first=3 --arg n=1000
extern "C" __global__ void copy(const float* x, float* y, int first, int n) {
    const int t = blockIdx.x * 64 + threadIdx.x, threads = gridDim.x * 64;
    // broken: const int head = 0, fours = (n - head) / 4;
    const int head = -first & 3, fours = (n - head) / 4;
    const float4* from = reinterpret_cast<const float4*>(x + first + head);
    float4* to = reinterpret_cast<float4*>(y + first + head);
    if (t < head) y[first + t] = x[first + t];
    for (int i = t; i < fours; i += threads) to[i] = from[i];
    for (int i = head + 4 * fours + t; i < n; i += threads) y[first + i] = x[first + i];
}
