// race.shared.warp
//
// Finds: Accesses of two lanes of one warp to the same byte of shared memory, one of them
// a store, with neither __syncwarp() nor a barrier between them. All conflicting pairs
// lie within a warp; otherwise the finding is one of the other races.
//
// Why: Since compute capability 7.0 the lanes of a warp need not run in step, and the
// compiler may move the load before the store. A shuffle or a vote brings lanes together
// and orders no memory.
//
// Fix: __syncwarp() between the store and the load.

// tilewise: --grid 1 --block 32 --arg 'x=f32[32]:arange' --arg 'y=f32[32]'

// tilewise: --kernel bad
extern "C" __global__ void bad(const float* x, float* y) {
    __shared__ float tile[32];
    tile[threadIdx.x] = x[threadIdx.x];
    y[threadIdx.x] = tile[31 - threadIdx.x];
}

// tilewise: --kernel fixed
extern "C" __global__ void fixed(const float* x, float* y) {
    __shared__ float tile[32];
    tile[threadIdx.x] = x[threadIdx.x];
    __syncwarp();
    y[threadIdx.x] = tile[31 - threadIdx.x];
}
