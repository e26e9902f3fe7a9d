// Holds C against A B in float64, by the rule of core/compare.py: an element is right within atol + rtol (|A||B|).
//
// A block computes a 16 x 16 tile of both products from tiles in shared memory, and leaves its largest error and how many of its
// elements are wrong. Strides count elements, so that one kernel serves all layouts.

constexpr int SIDE = 16;

// max |C - C64| / (|A||B|) of one element, 0/0 being 0; infinite where only one of the two is NaN or infinite.
__device__ __forceinline__ double relative_error(float c, double exact, double scale, double atol, double rtol, bool& right) {
    const double computed = c, infinity = __longlong_as_double(0x7ff0000000000000);
    const bool both_nan = computed != computed && exact != exact;
    const bool same_infinity = fabs(computed) == infinity && computed == (double)(float)exact;
    if (computed == exact || both_nan || same_infinity) {
        right = true;
        return 0;
    }
    const double distance = fabs(computed - exact), error = distance / scale;
    right = distance <= atol + rtol * scale && distance < infinity;
    return error == error ? error : infinity;
}

extern "C" __global__ void __launch_bounds__(SIDE* SIDE)
    check_product(const float* __restrict__ A, const float* __restrict__ B, const float* __restrict__ C, double* worst, unsigned* wrong,
                  int M, int N, int K, long long a_row, long long a_k, long long b_k, long long b_col, long long c_row, double atol,
                  double rtol) {
    __shared__ double a_tile[SIDE][SIDE + 1], b_tile[SIDE][SIDE + 1];
    __shared__ double errors[SIDE * SIDE];
    __shared__ unsigned counts[SIDE * SIDE];
    const int x = threadIdx.x, y = threadIdx.y, thread = y * SIDE + x;
    const int block_row = blockIdx.y * SIDE, block_col = blockIdx.x * SIDE;
    const int row = block_row + y, col = block_col + x;

    double exact = 0, scale = 0;
    for (int k0 = 0; k0 < K; k0 += SIDE) {
        a_tile[y][x] = row < M && k0 + x < K ? A[row * a_row + (k0 + x) * a_k] : 0;
        b_tile[y][x] = k0 + y < K && col < N ? B[(k0 + y) * b_k + col * b_col] : 0;
        __syncthreads();
        const int depth = min(SIDE, K - k0);
        for (int k = 0; k < depth; ++k) {
            const double a = a_tile[y][k], b = b_tile[k][x];
            exact = fma(a, b, exact);
            scale = fma(fabs(a), fabs(b), scale);
        }
        __syncthreads();
    }

    bool right = true;
    errors[thread] = row < M && col < N ? relative_error(C[row * c_row + col], exact, scale, atol, rtol, right) : 0;
    counts[thread] = !right;
    __syncthreads();
    for (int half = SIDE * SIDE / 2; half > 0; half /= 2) {
        if (thread < half) {
            errors[thread] = fmax(errors[thread], errors[thread + half]);
            counts[thread] += counts[thread + half];
        }
        __syncthreads();
    }
    if (thread == 0) {
        const long long block = (long long)blockIdx.y * gridDim.x + blockIdx.x;
        worst[block] = errors[0];
        wrong[block] = counts[0];
    }
}
