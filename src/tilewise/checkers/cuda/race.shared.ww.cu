// race.shared.ww
//
// Finds: Stores to one byte of shared memory by threads of two warps, with no barrier
// between them. Arrays that share memory by mistake show so too, such as two extern
// arrays, which both begin at the same place.
//
// Why: What stands there afterwards is what the last warp wrote, and nothing says which
// that is.
//
// Fix: Let one thread store, add with an atomic, or give each thread or array a place of
// its own.

// tilewise: --grid 1 --block 128 --arg 'x=f32[128]:arange' --arg 'y=f32[128]'

// tilewise: --kernel bad
extern "C" __global__ void bad(const float* x, float* y) {
    __shared__ float last;
    if (threadIdx.x % 32 == 31) last = x[threadIdx.x];
    __syncthreads();
    y[threadIdx.x] = x[threadIdx.x] - last;
}

// tilewise: --kernel fixed
extern "C" __global__ void fixed(const float* x, float* y) {
    __shared__ float last;
    if (threadIdx.x == 127) last = x[threadIdx.x];
    __syncthreads();
    y[threadIdx.x] = x[threadIdx.x] - last;
}
