// deadlock.spin
//
// Finds: Threads that go round in a loop for a value which no thread will write any more:
// all others have ended, or wait as well. Loops that wait are run with warps and blocks
// in turns, as many blocks as the GPU holds at once, so a flag that is set later is seen.
//
// Why: The kernel never ends. Often a count is off by one, the one who sets the flag
// waits for the one who reads it, or a plain load is read once, before the loop.
//
// Fix: See who should set the flag and what keeps it from doing so. Read the flag with an
// atomic or a volatile load.

// tilewise: --grid 4 --block 32 --arg 'arrived=u32[1]:zeros' --arg 'y=u32[4]'

// tilewise: --kernel bad
extern "C" __global__ void bad(unsigned* arrived, unsigned* y) {
    if (threadIdx.x != 0) return;
    atomicAdd(arrived, 1);
    while (atomicAdd(arrived, 0) <= gridDim.x) {
    }
    y[blockIdx.x] = 1;
}

// tilewise: --kernel fixed
extern "C" __global__ void fixed(unsigned* arrived, unsigned* y) {
    if (threadIdx.x != 0) return;
    atomicAdd(arrived, 1);
    while (atomicAdd(arrived, 0) < gridDim.x) {
    }
    y[blockIdx.x] = 1;
}
