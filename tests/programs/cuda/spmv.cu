// Sparse matrix times vector, compressed rows: a warp a row, lanes stride over its entries and add up by shuffles.
extern "C" __global__ void spmv(const int* row_starts, const int* columns, const double* entries, const double* x, double* y, int rows) {
    const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    double sum = 0;
    for (int i = row_starts[row] + lane; i < row_starts[row + 1]; i += 32) sum += entries[i] * x[columns[i]];
    for (int step = 16; step; step /= 2) sum += __shfl_down_sync(0xffffffffu, sum, step);
    if (lane == 0) y[row] = sum;
}
