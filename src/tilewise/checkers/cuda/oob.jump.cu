// oob.jump
//
// Finds: A call by a pointer that is no function's address.
//
// Why: The launch fails with an illegal instruction. Mostly the pointer was never set, or
// was taken on the host, where functions have other addresses.
//
// Fix: Set the pointer before it is called, from code that runs on the GPU.

// tilewise: --grid 1 --block 32 --arg 'x=f32[32]:arange' --arg 'y=f32[32]'

__device__ __noinline__ float twice(float x) {
    return 2 * x;
}
__device__ __noinline__ float half(float x) {
    return x / 2;
}

using Step = float (*)(float);
__device__ Step steps[2] = {twice, half};
__device__ Step missing[2];

// tilewise: --kernel bad
extern "C" __global__ void bad(const float* x, float* y) {
    y[threadIdx.x] = missing[threadIdx.x % 2](x[threadIdx.x]);
}

// tilewise: --kernel fixed
extern "C" __global__ void fixed(const float* x, float* y) {
    y[threadIdx.x] = steps[threadIdx.x % 2](x[threadIdx.x]);
}
