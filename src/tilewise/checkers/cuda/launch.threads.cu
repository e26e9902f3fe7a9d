// launch.threads
//
// Finds: A block of more threads than the device takes, in all or along one axis.
//
// Why: The launch fails, with an error that is easily overlooked where nobody asks for
// it, and the output stays as it was.
//
// Fix: Make the block smaller, and let each thread compute more.

// tilewise: --grid 1 --arg 'x=f32[33,32]:arange' --arg 'y=f32[33,32]'

// tilewise: --kernel bad --block 32,33
extern "C" __global__ void bad(const float* x, float* y) {
    const int i = threadIdx.y * 32 + threadIdx.x;
    y[i] = 2 * x[i];
}

// tilewise: --kernel fixed --block 32,32
extern "C" __global__ void fixed(const float* x, float* y) {
    for (int i = threadIdx.y * 32 + threadIdx.x; i < 33 * 32; i += 32 * 32)
        y[i] = 2 * x[i];
}
