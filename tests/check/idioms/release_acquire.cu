// A store that releases and a load that acquires order what stands before and behind them, without a fence.
// tilewise: --grid 2 --block 32 --arg x=f32[32]:normal --arg data=f32[1] --arg flag=u32[1]:zeros --arg y=f32[1]
extern "C" __global__ void publish(const float* x, float* data, unsigned* flag, float* y) {
    if (threadIdx.x != 0) return;
    if (blockIdx.x == 1) {
        data[0] = x[5] + x[6];
        // broken: *(volatile unsigned*)flag = 1;
        asm volatile("st.release.gpu.global.u32 [%0], 1;" ::"l"(flag) : "memory");
    } else {
        unsigned seen;
        do {
            asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");
        } while (seen == 0);
        y[0] = data[0];
    }
}
