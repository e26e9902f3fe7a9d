// Edit distance of pairs of words, one block a pair: the cells of one antidiagonal need only the two before it, so threads compute it side
// by side and three rows in shared memory take turns.
constexpr int LONGEST = 127;

// Word i is text[starts[i]] up to text[starts[i + 1]]; pair p is words 2p and 2p + 1.
extern "C" __global__ void levenshtein(const char* text, const int* starts, int* distances) {
    __shared__ int rows[3][LONGEST + 1];
    const char *a = text + starts[2 * blockIdx.x], *b = text + starts[2 * blockIdx.x + 1];
    const int n = starts[2 * blockIdx.x + 1] - starts[2 * blockIdx.x], m = starts[2 * blockIdx.x + 2] - starts[2 * blockIdx.x + 1];
    int *two_before = rows[0], *before = rows[1], *now = rows[2];
    for (int diagonal = 0; diagonal <= n + m; ++diagonal) {
        for (int i = max(0, diagonal - m) + (int)threadIdx.x; i <= min(n, diagonal); i += blockDim.x) {
            const int j = diagonal - i;
            if (i == 0 || j == 0)
                now[i] = diagonal;
            else
                now[i] = min(min(before[i - 1], before[i]) + 1, two_before[i - 1] + (a[i - 1] != b[j - 1]));
        }
        __syncthreads();
        int* oldest = two_before;
        two_before = before;
        before = now;
        now = oldest;
    }
    if (threadIdx.x == 0) distances[blockIdx.x] = before[n];
}
