// uninit.local
//
// Finds: A load of a thread's own variable, in local memory, that the thread has not
// written, and whose value it uses: copying a structure with gaps is none.
//
// Why: It holds whatever the register or the stack held before, and the compiler may
// assume any value it likes.
//
// Fix: Give the variable a value on every path.

// tilewise: --grid 1 --block 32 --arg 'x=f32[96]:arange' --arg 'y=f32[32]' --arg k=3

// tilewise: --kernel bad
extern "C" __global__ void bad(const float* x, float* y, int k) {
    float window[4];
    for (int i = 0; i < 3; ++i) window[i] = x[32 * i + threadIdx.x];
    y[threadIdx.x] = 2 * window[k];
}

// tilewise: --kernel fixed
extern "C" __global__ void fixed(const float* x, float* y, int k) {
    float window[4];
    for (int i = 0; i < 3; ++i) window[i] = x[32 * i + threadIdx.x];
    window[3] = 0;
    y[threadIdx.x] = 2 * window[k];
}
