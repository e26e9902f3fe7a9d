// perf.bank_conflict
//
// Finds: A line whose accesses to shared memory want several words of one bank at once,
// so that they take half as many wavefronts again as they need, or more.
//
// Why: Each of the 32 banks serves one word at a time. Lanes that walk down a column of a
// tile 32 words wide all want the same bank, and take 32 turns.
//
// Fix: Pad each row by one element, as in tile[32][33], or swizzle the column with the
// row.

// tilewise: --grid 1 --block 32,32 --arg 'x=f32[32,32]:arange' --arg 'y=f32[32,32]'

// tilewise: --kernel bad
extern "C" __global__ void bad(const float* x, float* y) {
    __shared__ float tile[32][32];
    tile[threadIdx.y][threadIdx.x] = x[threadIdx.y * 32 + threadIdx.x];
    __syncthreads();
    y[threadIdx.y * 32 + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}

// tilewise: --kernel fixed
extern "C" __global__ void fixed(const float* x, float* y) {
    __shared__ float tile[32][33];
    tile[threadIdx.y][threadIdx.x] = x[threadIdx.y * 32 + threadIdx.x];
    __syncthreads();
    y[threadIdx.y * 32 + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}
