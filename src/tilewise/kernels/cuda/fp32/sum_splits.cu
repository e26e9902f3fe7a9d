// Adds what the blocks of a split k left, `splits` matrices of rows x lines, in the order of k.

constexpr int THREADS = 128;

extern "C" __global__ void __launch_bounds__(THREADS)
    sum_splits(const float* __restrict__ parts, float* __restrict__ Y, int lines, int rows, long long y_line, long long y_row, int splits) {
    const size_t size = size_t(rows) * lines, i = size_t(blockIdx.x) * THREADS + threadIdx.x;
    if (i >= size) return;
    float sum = parts[i];
#pragma unroll 8
    for (int split = 1; split < splits; ++split) sum += parts[split * size + i];
    Y[i / lines * y_row + i % lines * y_line] = sum;
}
