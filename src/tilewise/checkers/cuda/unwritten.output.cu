// unwritten.output
//
// Finds: An array that the kernel writes, with bytes that held nothing before and hold
// nothing now.
//
// Why: A part of the result is missing, mostly the edge: a grid of n / 32 blocks leaves
// out the last n % 32 elements.
//
// Fix: Round the grid up, as in (n + 31) / 32, and guard the store.

// tilewise: --block 32 --arg 'x=f32[100]:arange' --arg 'y=f32[100]' --arg n=100

// tilewise: --kernel bad --grid n/32
extern "C" __global__ void bad(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2 * x[i];
}

// tilewise: --kernel fixed --grid (n+31)/32
extern "C" __global__ void fixed(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2 * x[i];
}
