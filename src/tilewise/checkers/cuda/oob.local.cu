// oob.local
//
// Finds: An access to local memory, a thread's own arrays on its stack, beyond what the
// thread has.
//
// Why: It reads or destroys another variable of the thread, or the launch fails.
//
// Fix: Keep the index within the array.

// tilewise: --grid 1 --block 32 --arg 'x=f32[128]:arange' --arg 'y=f32[32]'

// tilewise: --kernel bad --arg k=4096
extern "C" __global__ void bad(const float* x, float* y, int k) {
    float window[4];
    for (int i = 0; i < 4; ++i) window[i] = x[32 * i + threadIdx.x];
    y[threadIdx.x] = window[k];
}

// tilewise: --kernel fixed --arg k=4096
extern "C" __global__ void fixed(const float* x, float* y, int k) {
    float window[4];
    for (int i = 0; i < 4; ++i) window[i] = x[32 * i + threadIdx.x];
    y[threadIdx.x] = window[k < 4 ? k : 3];
}
