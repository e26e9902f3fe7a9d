// trap.assert
//
// Finds: An assert() in the kernel whose condition does not hold.
//
// Why: The launch ends there, and every later call of the CUDA runtime fails too.
//
// Fix: See what the condition guards against: the example thread comes to it with values
// that break it.

// tilewise: --grid 1 --block 32 --arg 'index=i32[32]:arange' --arg 'x=f32[32]:arange' --arg 'y=f32[32]'

// tilewise: --kernel bad --arg n=31
extern "C" __global__ void bad(const int* index, const float* x, float* y, int n) {
    const int i = index[threadIdx.x];
    assert(i < n);
    y[threadIdx.x] = x[i];
}

// tilewise: --kernel fixed --arg n=32
extern "C" __global__ void fixed(const int* index, const float* x, float* y, int n) {
    const int i = index[threadIdx.x];
    assert(i < n);
    y[threadIdx.x] = x[i];
}
