// numeric.nonfinite
//
// Finds: An output that is NaN or infinite although all inputs are finite.
//
// Why: exp(x) overflows above x = 88.7 in float and above 11.1 in half precision; inf /
// inf, inf - inf and 0 * inf are NaN, and one NaN in a sum makes all of it NaN.
//
// Fix: Subtract the maximum before exp, divide before you square, guard a division, or
// accumulate in float.

// tilewise: --grid 1 --block 64 --arg 'x=f32[64]:full(100)' --arg 'y=f32[64]'

// tilewise: --kernel bad
extern "C" __global__ void bad(const float* x, float* y) {
    const float e = expf(x[threadIdx.x]);
    y[threadIdx.x] = e / (1 + e);
}

// tilewise: --kernel fixed
extern "C" __global__ void fixed(const float* x, float* y) {
    y[threadIdx.x] = 1 / (1 + expf(-x[threadIdx.x]));
}
