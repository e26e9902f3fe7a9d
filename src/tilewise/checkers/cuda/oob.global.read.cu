// oob.global.read
//
// Finds: A load from global memory outside of every array of the launch. The report says
// by how many bytes, and past which array.
//
// Why: On a GPU it mostly goes unnoticed, since other data lie there, and the result is
// wrong by what they hold; or the launch fails with an illegal address, somewhere else.
//
// Fix: Guard the load with the array's bounds, and use a neutral value such as 0 outside.

// tilewise: --grid 1 --block 64 --arg 'x=f32[64]:arange' --arg 'y=f32[64]' --arg n=64

// tilewise: --kernel bad
extern "C" __global__ void bad(const float* x, float* y, int n) {
    const int i = threadIdx.x;
    if (i < n) y[i] = x[i] + x[i + 1];
}

// tilewise: --kernel fixed
extern "C" __global__ void fixed(const float* x, float* y, int n) {
    const int i = threadIdx.x;
    if (i < n) y[i] = x[i] + (i + 1 < n ? x[i + 1] : 0);
}
