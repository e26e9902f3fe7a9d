// race.shared.raw, error: a thread reads shared memory that another thread writes, and no barrier orders the write first
//
// Finds: a store and a later load of the same byte of shared memory, by threads of two warps, with no barrier between them. It is
// decided over all accesses between two barriers, not by the order of one run, so it holds for every order that a GPU may take.
//
// Why: whether the reader sees the new value or what stood there before is a matter of which warp comes first. It may be right a
// thousand times, on one GPU, with one compiler, and wrong in production.
//
// Fix: a __syncthreads() between the store and the load, where every thread of the block reaches it.

// tilewise: --kernel bad --grid 1 --block 128 --arg 'x=f32[128]:arange' --arg 'y=f32[128]'
extern "C" __global__ void bad(const float* x, float* y) {
    __shared__ float tile[128];
    tile[threadIdx.x] = x[threadIdx.x];
    y[threadIdx.x] = tile[127 - threadIdx.x];
}

// tilewise: --kernel fixed --grid 1 --block 128 --arg 'x=f32[128]:arange' --arg 'y=f32[128]'
extern "C" __global__ void fixed(const float* x, float* y) {
    __shared__ float tile[128];
    tile[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    y[threadIdx.x] = tile[127 - threadIdx.x];
}
