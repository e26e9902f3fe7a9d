// One warp publishes data to another by a flag in shared memory: fences of the block's scope do.
// tilewise: --grid 2 --block 64 --arg x=f32[2,32]:normal --arg y=f32[2,32]
extern "C" __global__ void hand_over(const float* x, float* y) {
    __shared__ float data[32];
    __shared__ unsigned flag;
    const int lane = threadIdx.x % 32;
    if (threadIdx.x == 0) flag = 0;
    __syncthreads();
    if (threadIdx.x < 32) {
        data[lane] = x[blockIdx.x * 32 + lane] + 1.0f;
        __syncwarp();
        if (lane == 0) {
            // broken:
            __threadfence_block();
            atomicExch(&flag, 1u);
        }
    } else {
        if (lane == 0) {
            while (atomicAdd(&flag, 0u) == 0) {
            }
            __threadfence_block();
        }
        __syncwarp();
        y[blockIdx.x * 32 + lane] = data[31 - lane];
    }
}
