// perf.fp64
//
// Finds: A line that computes in double precision although no argument of the kernel is a
// double. Mostly a literal lacks its f, or a function of the C library is not the float
// one.
//
// Why: Most GPUs have 2 double-precision units for 128 of single precision, and the
// conversions to double and back cost as well.
//
// Fix: 0.5f instead of 0.5; sqrtf, expf, fabsf instead of sqrt, exp, fabs.

// tilewise: --grid 1 --block 128 --arg 'x=f32[128]:arange' --arg 'y=f32[128]'

// tilewise: --kernel bad
extern "C" __global__ void bad(const float* x, float* y) {
    y[threadIdx.x] = 0.1 * x[threadIdx.x] + 0.7;
}

// tilewise: --kernel fixed
extern "C" __global__ void fixed(const float* x, float* y) {
    y[threadIdx.x] = 0.1f * x[threadIdx.x] + 0.7f;
}
