// Mandelbrot set: rounds until |z| > 2, at most `limit`. Products and sums are rounded one by one, so that the count is exact.
extern "C" __global__ void mandelbrot(int* rounds, int width, int height, float left, float top, float step, int limit) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    const float real = __fadd_rn(left, __fmul_rn(x, step)), imaginary = __fadd_rn(top, __fmul_rn(y, step));
    float a = 0, b = 0;
    int round = 0;
    for (; round < limit; ++round) {
        const float aa = __fmul_rn(a, a), bb = __fmul_rn(b, b);
        if (__fadd_rn(aa, bb) > 4.0f) break;
        b = __fadd_rn(__fmul_rn(2.0f, __fmul_rn(a, b)), imaginary);
        a = __fadd_rn(__fsub_rn(aa, bb), real);
    }
    rounds[y * width + x] = round;
}
