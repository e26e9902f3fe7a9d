// Four stages of cp.async: three tiles are on their way while the block works on the fourth.
// tilewise: --grid 2 --block 64 --arg x=f32[2,n,64]:normal --arg y=f32[2,64] --arg n=10
__device__ __forceinline__ void copy_word(float* to, const float* from) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(unsigned(__cvta_generic_to_shared(to))), "l"(from) : "memory");
}

extern "C" __global__ void add_rows(const float* x, float* y, int n) {
    __shared__ float stages[4][64];
    const int t = threadIdx.x;
    x += blockIdx.x * n * 64;
    for (int k = 0; k < 3; ++k) {
        if (k < n) copy_word(&stages[k][t], x + k * 64 + t);
        asm volatile("cp.async.commit_group;" ::: "memory");
    }
    float sum = 0.0f;
    for (int k = 0; k < n; ++k) {
        // broken: asm volatile("cp.async.wait_group 3;" ::: "memory");
        asm volatile("cp.async.wait_group 2;" ::: "memory");
        __syncthreads();
        if (k + 3 < n) copy_word(&stages[(k + 3) % 4][t], x + (k + 3) * 64 + t);
        asm volatile("cp.async.commit_group;" ::: "memory");
        sum += stages[k % 4][63 - t];
    }
    y[blockIdx.x * 64 + t] = sum;
}
