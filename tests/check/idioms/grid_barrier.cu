// All blocks meet at a barrier of atomics between two sweeps over global memory.
// tilewise: --grid 5 --block 64 --arg x=f32[320]:normal --arg between=f32[320] --arg y=f32[320] --arg arrived=u32[1]:zeros
extern "C" __global__ void two_sweeps(const float* x, float* between, float* y, unsigned* arrived) {
    const int n = gridDim.x * 64, i = blockIdx.x * 64 + threadIdx.x;
    between[i] = x[i] + x[(i + 1) % n];
    // broken:
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd(arrived, 1u);
        while (atomicAdd(arrived, 0u) < gridDim.x) {
        }
        __threadfence();
    }
    __syncthreads();
    y[i] = between[(i + 64) % n] + between[(i + 65) % n];
}
