// launch.registers
//
// Finds: A block whose threads together need more registers than a multiprocessor has: 64
// a thread are left where 1,024 threads share 65,536.
//
// Why: The launch fails with too many resources requested, on this kernel alone and only
// for large blocks.
//
// Fix: A smaller block, or __launch_bounds__(threads), which has the compiler keep within
// the limit and may cost spilled registers.

// tilewise: --arg 'x=f32[n,16,1024]:normal' --arg 'y=f32[64,1024]' --arg n=4

// tilewise: --kernel bad --grid 1 --block 1024
extern "C" __global__ void bad(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sums[8][8] = {};
    for (int k = 0; k < n; ++k) {
        float a[8], b[8];
        for (int j = 0; j < 8; ++j) a[j] = x[(16 * k + j) * 1024 + i];
        for (int j = 0; j < 8; ++j) b[j] = x[(16 * k + 8 + j) * 1024 + i];
        for (int r = 0; r < 8; ++r)
            for (int c = 0; c < 8; ++c) sums[r][c] += a[r] * b[c];
    }
    for (int r = 0; r < 8; ++r)
        for (int c = 0; c < 8; ++c) y[(8 * r + c) * 1024 + i] = sums[r][c];
}

// tilewise: --kernel fixed --grid 2 --block 512
extern "C" __global__ void __launch_bounds__(512) fixed(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sums[8][8] = {};
    for (int k = 0; k < n; ++k) {
        float a[8], b[8];
        for (int j = 0; j < 8; ++j) a[j] = x[(16 * k + j) * 1024 + i];
        for (int j = 0; j < 8; ++j) b[j] = x[(16 * k + 8 + j) * 1024 + i];
        for (int r = 0; r < 8; ++r)
            for (int c = 0; c < 8; ++c) sums[r][c] += a[r] * b[c];
    }
    for (int r = 0; r < 8; ++r)
        for (int c = 0; c < 8; ++c) y[(8 * r + c) * 1024 + i] = sums[r][c];
}
