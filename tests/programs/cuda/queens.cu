// Ways to place n queens on a board of n x n: a thread a placement of the first two rows, backtracking with a stack of its own.
constexpr int MOST = 12;

extern "C" __global__ void queens(int n, unsigned long long* ways) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned all = (1u << n) - 1, first = 1u << i / n, second = 1u << i % n;
    if (i >= n * n || second & (first | first << 1 | first >> 1)) return;
    unsigned free[MOST], columns[MOST], left[MOST], right[MOST];
    int row = 2, found = 0;
    columns[row] = first | second;
    left[row] = (first << 1 | second) << 1;
    right[row] = (first >> 1 | second) >> 1;
    free[row] = all & ~(columns[row] | left[row] | right[row]);
    while (row >= 2) {
        if (row == n || !free[row]) {
            found += row == n;
            --row;
            continue;
        }
        const unsigned queen = free[row] & -free[row];
        free[row] ^= queen;
        columns[row + 1] = columns[row] | queen;
        left[row + 1] = (left[row] | queen) << 1;
        right[row + 1] = (right[row] | queen) >> 1;
        ++row;
        free[row] = all & ~(columns[row] | left[row] | right[row]);
    }
    atomicAdd(ways, found);
}
