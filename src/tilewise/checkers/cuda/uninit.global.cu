// uninit.global
//
// Finds: A load of bytes of global memory that nobody has written, neither the host (the
// array's contents are poison) nor the kernel before.
//
// Why: cudaMalloc clears nothing. The result hangs on what an earlier program left there.
//
// Fix: Have the host clear the array, or the kernel store before it reads.

// tilewise: --grid 1 --block 64 --arg 'x=f32[64]:arange' --arg 'y=f32[64]'

// tilewise: --kernel bad
extern "C" __global__ void bad(const float* x, float* y) {
    y[threadIdx.x] += x[threadIdx.x];
}

// tilewise: --kernel fixed
extern "C" __global__ void fixed(const float* x, float* y) {
    y[threadIdx.x] = x[threadIdx.x];
}
