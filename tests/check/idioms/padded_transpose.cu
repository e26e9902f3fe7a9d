// A transpose through a tile whose padded rows keep columns out of each other's banks.
// tilewise: --grid 3,3 --block 32,8 --arg a=f32[70,90]:normal --arg b=f32[90,70] --arg rows=70 --arg columns=90
extern "C" __global__ void transpose(const float* a, float* b, int rows, int columns) {
    // broken: __shared__ float tile[32][32];
    __shared__ float tile[32][33];
    const int x = threadIdx.x, row = blockIdx.y * 32, column = blockIdx.x * 32;
    for (int y = threadIdx.y; y < 32; y += 8)
        if (row + y < rows && column + x < columns) tile[y][x] = a[(row + y) * columns + column + x];
    __syncthreads();
    for (int y = threadIdx.y; y < 32; y += 8)
        if (column + y < columns && row + x < rows) b[(column + y) * rows + row + x] = tile[x][y];
}
