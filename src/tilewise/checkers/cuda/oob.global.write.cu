// oob.global.write
//
// Finds: A store to global memory outside of every array of the launch, or into one that
// is only to be read.
//
// Why: It destroys what stands there: another array, or another program's part of one.
// Whoever reads that looks guilty.
//
// Fix: Guard the store with the array's bounds.

// tilewise: --grid 2 --block 64 --arg 'x=f32[100]:arange' --arg 'y=f32[100]' --arg n=100

// tilewise: --kernel bad
extern "C" __global__ void bad(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = i < n ? 2 * x[i] : 0;
}

// tilewise: --kernel fixed
extern "C" __global__ void fixed(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2 * x[i];
}
