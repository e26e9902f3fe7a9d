// What bench_check.py checks from the command line: one kernel with its launch facts.
// tilewise: --grid n/16,n/16 --block 16,16 --arg a=f32[n,n]:normal --arg b=f32[n,n]:normal --arg c=f32[n,n] --arg n=64
constexpr int S = 16;

extern "C" __global__ void multiply(const float* a, const float* b, float* c, int n) {
    __shared__ float a_tile[S][S], b_tile[S][S];
    const int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * S + y, col = blockIdx.x * S + x;
    float acc = 0.0f;
    for (int k0 = 0; k0 < n; k0 += S) {
        a_tile[y][x] = a[row * n + k0 + x];
        b_tile[y][x] = b[(k0 + y) * n + col];
        __syncthreads();
        for (int kk = 0; kk < S; ++kk) acc += a_tile[y][kk] * b_tile[kk][x];
        __syncthreads();
    }
    c[row * n + col] = acc;
}
