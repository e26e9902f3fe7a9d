// race.shared.raw
//
// Finds: A store to shared memory and a load of the same byte by threads of two warps,
// the store first in the program, with no barrier between them. It is decided over all
// accesses between two barriers and not by the order of one run, so it holds for every
// order that a GPU may take.
//
// Why: Which warp comes first decides whether the load sees the new value or what stood
// there before. It may be right a thousand times, on one GPU with one compiler, and wrong
// in production.
//
// Fix: A __syncthreads() between the store and the load, where every thread of the block
// comes to it.

// tilewise: --grid 1 --block 128 --arg 'x=f32[128]:arange' --arg 'y=f32[128]'

// tilewise: --kernel bad
extern "C" __global__ void bad(const float* x, float* y) {
    __shared__ float tile[128];
    tile[threadIdx.x] = x[threadIdx.x];
    y[threadIdx.x] = tile[127 - threadIdx.x];
}

// tilewise: --kernel fixed
extern "C" __global__ void fixed(const float* x, float* y) {
    __shared__ float tile[128];
    tile[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    y[threadIdx.x] = tile[127 - threadIdx.x];
}
