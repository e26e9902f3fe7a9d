// warp.mask
//
// Finds: A warp instruction (shuffle, vote, match, __syncwarp) whose mask names lanes
// that do not take part in it.
//
// Why: The lanes that came wait for the others, perhaps for ever; what is shuffled from a
// lane that is not there is undefined.
//
// Fix: Name only lanes that come here, or move the call out of the branch.

// tilewise: --grid 1 --block 32 --arg 'x=f32[32]:arange' --arg 'y=f32[32]'

// tilewise: --kernel bad
extern "C" __global__ void bad(const float* x, float* y) {
    float value = x[threadIdx.x];
    if (threadIdx.x < 16) value += __shfl_xor_sync(0xffffffff, value, 16);
    y[threadIdx.x] = value;
}

// tilewise: --kernel fixed
extern "C" __global__ void fixed(const float* x, float* y) {
    float value = x[threadIdx.x];
    const float other = __shfl_xor_sync(0xffffffff, value, 16);
    if (threadIdx.x < 16) value += other;
    y[threadIdx.x] = value;
}
