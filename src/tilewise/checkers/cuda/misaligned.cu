// misaligned
//
// Finds: An access whose address is no multiple of its bytes. A float4 wants a multiple
// of 16, which a row of a matrix has only if the row's bytes do.
//
// Why: The launch fails with a misaligned address: GPUs do not load across such bounds.
//
// Fix: Make the rows' bytes a multiple of the access's (pad them), or access in smaller
// pieces.

// tilewise: --grid 1 --block 16 --arg 'x=f32[65]:arange' --arg 'y=f32[64]'

// tilewise: --kernel bad
extern "C" __global__ void bad(const float* x, float* y) {
    ((float4*)y)[threadIdx.x] = ((const float4*)(x + 1))[threadIdx.x];
}

// tilewise: --kernel fixed
extern "C" __global__ void fixed(const float* x, float* y) {
    for (int i = threadIdx.x; i < 64; i += 16) y[i] = x[i + 1];
}
