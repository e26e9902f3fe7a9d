// The programming guide's sum: the last block reads volatile results behind the counter, without a fence of its own; writers need theirs.
// tilewise: --grid 4 --block 32 --arg x=f32[4,32]:normal --arg results=f32[4] --arg y=f32[1]
__device__ unsigned finished = 0;

extern "C" __global__ void sum(const float* x, volatile float* results, float* y) {
    __shared__ bool is_last;
    float v = x[blockIdx.x * 32 + threadIdx.x];
    for (int o = 16; o > 0; o /= 2) v += __shfl_xor_sync(~0u, v, o);
    if (threadIdx.x == 0) {
        results[blockIdx.x] = v;
        // broken:
        __threadfence();
        is_last = atomicInc(&finished, gridDim.x) == gridDim.x - 1;
    }
    __syncthreads();
    if (!is_last) return;
    v = threadIdx.x < gridDim.x ? results[threadIdx.x] : 0.0f;
    for (int o = 16; o > 0; o /= 2) v += __shfl_xor_sync(~0u, v, o);
    if (threadIdx.x == 0) {
        *y = v;
        finished = 0;
    }
}
