// uninit.shared
//
// Finds: A load of bytes of shared memory that no thread of the block has written.
//
// Why: Shared memory begins with what an earlier block left there. Often that is zeros,
// and the kernel looks right until another kernel runs before it.
//
// Fix: Write all of the tile, with zeros where there is no data.

// tilewise: --grid 1 --block 64 --arg 'x=f32[48]:arange' --arg 'y=f32[64]' --arg n=48

// tilewise: --kernel bad
extern "C" __global__ void bad(const float* x, float* y, int n) {
    __shared__ float tile[64];
    if (threadIdx.x < n) tile[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    y[threadIdx.x] = tile[63 - threadIdx.x];
}

// tilewise: --kernel fixed
extern "C" __global__ void fixed(const float* x, float* y, int n) {
    __shared__ float tile[64];
    tile[threadIdx.x] = threadIdx.x < n ? x[threadIdx.x] : 0;
    __syncthreads();
    y[threadIdx.x] = tile[63 - threadIdx.x];
}
