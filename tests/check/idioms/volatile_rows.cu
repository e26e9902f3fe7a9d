// Warps exchange rows of numbers through volatile memory: that orders nothing, barriers do.
// tilewise: --grid 2 --block 64 --arg x=f32[2,64]:normal --arg y=f32[2,64]
extern "C" __global__ void reverse(const float* x, float* y) {
    __shared__ volatile float row[64];
    row[threadIdx.x] = 0.0f;
    __syncthreads();
    row[threadIdx.x] += x[blockIdx.x * 64 + threadIdx.x];
    // broken:
    __syncthreads();
    y[blockIdx.x * 64 + threadIdx.x] = row[63 - threadIdx.x];
}
