// perf.uncoalesced
//
// Finds: A line whose loads from or stores to global memory touch more than twice the
// sectors (32 bytes) that the bytes they ask for fill.
//
// Why: Memory moves whole sectors. Where each lane of a warp touches one of its own for 4
// bytes, seven eighths of the bandwidth go to bytes that nobody asked for.
//
// Fix: Let consecutive threads (threadIdx.x) access consecutive elements: exchange x and
// y, or go through shared memory.

// tilewise: --grid 1 --block 128 --arg 'x=f32[128,8]:arange' --arg 'y=f32[128,8]'

// tilewise: --kernel bad
extern "C" __global__ void bad(const float* x, float* y) {
    for (int i = 0; i < 8; ++i) y[8 * threadIdx.x + i] = 2 * x[8 * threadIdx.x + i];
}

// tilewise: --kernel fixed
extern "C" __global__ void fixed(const float* x, float* y) {
    for (int i = 0; i < 8; ++i) y[128 * i + threadIdx.x] = 2 * x[128 * i + threadIdx.x];
}
