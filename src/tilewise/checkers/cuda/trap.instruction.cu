// trap.instruction
//
// Finds: A thread that comes to a trap (__trap(), or code that the compiler knows to be
// impossible), with which a kernel gives up.
//
// Why: The launch ends there, and every later call of the CUDA runtime fails too.
//
// Fix: See what leads there: the example thread comes to it.

// tilewise: --grid 1 --block 32 --arg 'kind=i32[32]:arange' --arg 'y=i32[32]'

// tilewise: --kernel bad
extern "C" __global__ void bad(const int* kind, int* y) {
    if (kind[threadIdx.x] > 30) __trap();
    y[threadIdx.x] = 2 * kind[threadIdx.x];
}

// tilewise: --kernel fixed
extern "C" __global__ void fixed(const int* kind, int* y) {
    if (kind[threadIdx.x] > 31) __trap();
    y[threadIdx.x] = 2 * kind[threadIdx.x];
}
