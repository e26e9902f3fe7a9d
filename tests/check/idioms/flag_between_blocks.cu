// One block publishes data by a flag, another waits for it: fences of the device's scope on either side.
// tilewise: --grid 2 --block 64 --arg x=f32[64]:normal --arg data=f32[64] --arg flag=u32[1]:zeros --arg y=f32[64]
extern "C" __global__ void hand_over(const float* x, float* data, unsigned* flag, float* y) {
    const int t = threadIdx.x;
    if (blockIdx.x == 1) {
        data[t] = 2.0f * x[t];
        __syncthreads();
        if (t == 0) {
            // broken: __threadfence_block();
            __threadfence();
            atomicExch(flag, 1u);
        }
    } else {
        if (t == 0) {
            while (atomicAdd(flag, 0u) == 0) {
            }
            __threadfence();
        }
        __syncthreads();
        y[t] = data[63 - t];
    }
}
