// The block that comes last adds up the parts of all, with all of its threads.
// tilewise: --grid 64 --block 64 --arg x=f32[64,64]:normal --arg parts=f32[64] --arg arrived=u32[1]:zeros --arg y=f32[1]
__device__ float sum_block(float v) {
    __shared__ float sums[2];
    for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(0xffffffffu, v, d);
    __syncthreads();
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = v;
    __syncthreads();
    return sums[0] + sums[1];
}

extern "C" __global__ void sum(const float* x, float* parts, unsigned* arrived, float* y) {
    __shared__ bool is_last;
    const float part = sum_block(x[blockIdx.x * 64 + threadIdx.x]);
    if (threadIdx.x == 0) {
        parts[blockIdx.x] = part;
        // broken:
        __threadfence();
        is_last = atomicAdd(arrived, 1u) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    if (!is_last) return;
    const float all = sum_block(parts[threadIdx.x]);
    if (threadIdx.x == 0) *y = all;
}
