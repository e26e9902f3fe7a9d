// Steps of a relaxation on a ring, from one slot into the other: one barrier a step is enough.
// tilewise: --grid 3 --block 96 --arg x=f32[3,96]:normal --arg y=f32[3,96] --arg steps=9
extern "C" __global__ void relax(const float* x, float* y, int steps) {
    __shared__ float slots[2][96];
    const int t = threadIdx.x, left = (t + 95) % 96, right = (t + 1) % 96;
    slots[0][t] = x[blockIdx.x * 96 + t];
    __syncthreads();
    for (int step = 0; step < steps; ++step) {
        const int now = step & 1;
        const float sum = slots[now][left] + slots[now][t] + slots[now][right];
        // broken: slots[now][t] = sum / 3.0f;
        slots[now ^ 1][t] = sum / 3.0f;
        __syncthreads();
    }
    y[blockIdx.x * 96 + t] = slots[steps & 1][t];
}
