// Tiles come in by cp.async, two stages deep: the next is on its way while the block adds up this one.
// tilewise: --grid 2 --block 64 --arg x=f32[2,n,64]:normal --arg y=f32[2,64] --arg n=7
__device__ __forceinline__ void copy_word(float* to, const float* from) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(unsigned(__cvta_generic_to_shared(to))), "l"(from) : "memory");
}

extern "C" __global__ void add_rows(const float* x, float* y, int n) {
    __shared__ float stages[2][64];
    const int t = threadIdx.x;
    x += blockIdx.x * n * 64;
    copy_word(&stages[0][t], x + t);
    asm volatile("cp.async.commit_group;" ::: "memory");
    float sum = 0.0f;
    for (int k = 0; k < n; ++k) {
        if (k + 1 < n) copy_word(&stages[k + 1 & 1][t], x + (k + 1) * 64 + t);
        asm volatile("cp.async.commit_group;" ::: "memory");
        asm volatile("cp.async.wait_group 1;" ::: "memory");
        __syncthreads();
        sum += stages[k & 1][63 - t];
        // broken:
        __syncthreads();
    }
    y[blockIdx.x * 64 + t] = sum;
}
