// Three warps, three roles: one loads, one squares, one stores; pairs of them meet at named barriers of 64 threads.
// tilewise: --grid 2 --block 96 --arg x=f32[2,8,32]:normal --arg y=f32[2,8,32] --arg n=8
__device__ __forceinline__ void meet(int barrier) { asm volatile("bar.sync %0, 64;" ::"r"(barrier) : "memory"); }

extern "C" __global__ void square(const float* x, float* y, int n) {
    __shared__ float loaded[32], squared[32];
    const int role = threadIdx.x / 32, lane = threadIdx.x % 32;
    x += blockIdx.x * n * 32;
    y += blockIdx.x * n * 32;
    for (int k = 0; k < n; ++k) {
        if (role == 0) {
            loaded[lane] = x[k * 32 + lane];
            meet(1);  // loaded is full
            meet(2);  // loaded is free
        } else if (role == 1) {
            meet(1);
            const float v = loaded[31 - lane];
            // broken: if (k > 0) meet(2);
            meet(2);
            squared[31 - lane] = v * v;
            meet(3);  // squared is full
            meet(4);  // squared is free
        } else {
            meet(3);
            y[k * 32 + lane] = squared[lane];
            meet(4);
        }
    }
}
