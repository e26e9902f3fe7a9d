// A product of odd sizes: the block copies tiles together, with zeros past the edges.
// tilewise: --grid 3,3 --block 16,16 --arg a=f32[m,k]:normal --arg b=f32[k,n]:normal --arg c=f32[m,n] --arg m=37 --arg n=41 --arg k=19
extern "C" __global__ void multiply(const float* a, const float* b, float* c, int m, int n, int k) {
    __shared__ float a_tile[16][16], b_tile[16][16];
    const int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
    float sum = 0.0f;
    for (int k0 = 0; k0 < k; k0 += 16) {
        a_tile[y][x] = row < m && k0 + x < k ? a[row * k + k0 + x] : 0.0f;
        // broken: if (k0 + y < k && column < n) b_tile[y][x] = b[(k0 + y) * n + column];
        b_tile[y][x] = k0 + y < k && column < n ? b[(k0 + y) * n + column] : 0.0f;
        __syncthreads();
        for (int kk = 0; kk < 16; ++kk) sum += a_tile[y][kk] * b_tile[kk][x];
        __syncthreads();
    }
    if (row < m && column < n) c[row * n + column] = sum;
}
