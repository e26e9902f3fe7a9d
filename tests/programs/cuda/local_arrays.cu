// Linear systems, one a thread, by elimination with pivoting in local arrays: rows are swapped through an index array.
constexpr int MOST = 8;

extern "C" __global__ void solve(const double* matrices, const double* right, double* solutions, int size, int n) {
    const int system = blockIdx.x * blockDim.x + threadIdx.x;
    if (system >= n) return;
    double a[MOST][MOST + 1];
    int order[MOST];
    for (int i = 0; i < size; ++i) {
        order[i] = i;
        for (int j = 0; j < size; ++j) a[i][j] = matrices[(system * size + i) * size + j];
        a[i][size] = right[system * size + i];
    }
    for (int k = 0; k < size; ++k) {
        int pivot = k;
        for (int i = k + 1; i < size; ++i)
            if (fabs(a[order[i]][k]) > fabs(a[order[pivot]][k])) pivot = i;
        const int row = order[pivot];
        order[pivot] = order[k];
        order[k] = row;
        for (int i = k + 1; i < size; ++i) {
            const double factor = a[order[i]][k] / a[row][k];
            for (int j = k; j <= size; ++j) a[order[i]][j] -= factor * a[row][j];
        }
    }
    for (int i = size - 1; i >= 0; --i) {
        double sum = a[order[i]][size];
        for (int j = i + 1; j < size; ++j) sum -= a[order[i]][j] * solutions[system * size + j];
        solutions[system * size + i] = sum / a[order[i]][i];
    }
}
