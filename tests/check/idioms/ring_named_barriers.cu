// Two warps fill a ring of two slots for two others; four named barriers say which slot is full and which is free.
// tilewise: --grid 1 --block 128 --arg x=f32[12,64]:normal --arg y=f32[12,64] --arg n=12
__device__ __forceinline__ void arrive(int barrier) { asm volatile("bar.arrive %0, 128;" ::"r"(barrier) : "memory"); }
__device__ __forceinline__ void wait(int barrier) { asm volatile("bar.sync %0, 128;" ::"r"(barrier) : "memory"); }

extern "C" __global__ void reverse_rows(const float* x, float* y, int n) {
    __shared__ float slots[2][64];
    const int t = threadIdx.x & 63, full = 1, free = 3;
    if (threadIdx.x < 64) {
        for (int k = 0; k < n; ++k) {
            if (k >= 2) wait(free + (k & 1));
            // broken: slots[k + 1 & 1][t] = x[k * 64 + t];
            slots[k & 1][t] = x[k * 64 + t];
            arrive(full + (k & 1));
        }
    } else {
        for (int k = 0; k < n; ++k) {
            wait(full + (k & 1));
            y[k * 64 + t] = slots[k & 1][63 - t];
            if (k + 2 < n) arrive(free + (k & 1));
        }
    }
}
