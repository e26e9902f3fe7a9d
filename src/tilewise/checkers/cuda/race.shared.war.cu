// race.shared.war
//
// Finds: A load from shared memory and a store to the same byte by threads of two warps,
// the load first in the program, with no barrier between them. Most often the store is
// that of the loop's next turn.
//
// Why: A fast warp overwrites what a slow one has yet to read. The barrier after the
// store does not help: it keeps readers from coming too early, not writers.
//
// Fix: A second __syncthreads(), at the end of the loop's body; or two tiles in turn, so
// that the next store goes where nobody reads.

// tilewise: --grid 1 --block 128 --arg 'x=f32[4,128]:arange' --arg 'y=f32[4,128]'

// tilewise: --kernel bad
extern "C" __global__ void bad(const float* x, float* y) {
    __shared__ float tile[128];
    for (int row = 0; row < 4; ++row) {
        tile[threadIdx.x] = x[128 * row + threadIdx.x];
        __syncthreads();
        y[128 * row + threadIdx.x] = tile[127 - threadIdx.x];
    }
}

// tilewise: --kernel fixed
extern "C" __global__ void fixed(const float* x, float* y) {
    __shared__ float tile[128];
    for (int row = 0; row < 4; ++row) {
        tile[threadIdx.x] = x[128 * row + threadIdx.x];
        __syncthreads();
        y[128 * row + threadIdx.x] = tile[127 - threadIdx.x];
        __syncthreads();
    }
}
