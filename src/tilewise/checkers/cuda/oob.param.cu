// oob.param
//
// Finds: A load past the kernel's parameters or past a constant, mostly by an index into
// a structure or a __constant__ array.
//
// Why: What stands there is another parameter, or nothing.
//
// Fix: Keep the index within the array.

// tilewise: --grid 1 --block 32 --arg 'y=f32[32]'

__constant__ float table[4] = {1, 2, 3, 4};

// tilewise: --kernel bad
extern "C" __global__ void bad(float* y) {
    y[threadIdx.x] = table[threadIdx.x / 4];
}

// tilewise: --kernel fixed
extern "C" __global__ void fixed(float* y) {
    y[threadIdx.x] = table[threadIdx.x / 8];
}
