// uninit.constant
//
// Finds: A load from a __constant__ variable that has no value where it is declared. The
// host is to fill it, by cudaMemcpyToSymbol, and no host runs here.
//
// Why: It holds zeros. Filters then give zeros, and what divides by a constant gives NaN:
// results of this check say little.
//
// Fix: Give the variable values where it is declared, for the check.

// tilewise: --grid 1 --block 32 --arg 'x=f32[34]:arange' --arg 'y=f32[32]'

__constant__ float unset[3];
__constant__ float weights[3] = {0.25f, 0.5f, 0.25f};

// tilewise: --kernel bad
extern "C" __global__ void bad(const float* x, float* y) {
    const int i = threadIdx.x;
    y[i] = unset[0] * x[i] + unset[1] * x[i + 1] + unset[2] * x[i + 2];
}

// tilewise: --kernel fixed
extern "C" __global__ void fixed(const float* x, float* y) {
    const int i = threadIdx.x;
    y[i] = weights[0] * x[i] + weights[1] * x[i + 1] + weights[2] * x[i + 2];
}
