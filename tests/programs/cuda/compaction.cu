// Keep what is positive: lanes find their places with ballot and popc, warps in shared memory, blocks with one atomic addition each, so
// that order holds within a block and blocks come as they come.
constexpr int MAX_WARPS = 32;

extern "C" __global__ void compact(const int* in, int* out, int* first_of_block, int* kept, int n) {
    __shared__ int in_warp[MAX_WARPS], first;
    const int i = blockIdx.x * blockDim.x + threadIdx.x, warp = threadIdx.x / 32, warps = (blockDim.x + 31) / 32;
    const int value = i < n ? in[i] : 0;
    const unsigned keep = __ballot_sync(__activemask(), value > 0);
    unsigned lanes_before;
    asm("mov.u32 %0, %%lanemask_lt;" : "=r"(lanes_before));
    if (threadIdx.x % 32 == 0) in_warp[warp] = __popc(keep);
    __syncthreads();
    if (threadIdx.x == 0) {
        int total = 0;
        for (int w = 0; w < warps; ++w) total += in_warp[w];
        first_of_block[blockIdx.x] = first = atomicAdd(kept, total);
    }
    __syncthreads();
    int place = first + __popc(keep & lanes_before);
    for (int w = 0; w < warp; ++w) place += in_warp[w];
    if (value > 0) out[place] = value;
}
