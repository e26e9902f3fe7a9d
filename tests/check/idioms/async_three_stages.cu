// Three stages of cp.async, sixteen bytes a copy, with one barrier a step.
// tilewise: --grid 2 --block 32 --arg x=f32[2,n,128]:normal --arg y=f32[2,128] --arg n=9
__device__ __forceinline__ void copy_four(float4* to, const float4* from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(unsigned(__cvta_generic_to_shared(to))), "l"(from) : "memory");
}

extern "C" __global__ void add_rows(const float4* x, float4* y, int n) {
    __shared__ float4 stages[3][32];
    const int t = threadIdx.x;
    x += blockIdx.x * n * 32;
    for (int k = 0; k < 2; ++k) {
        if (k < n) copy_four(&stages[k][t], x + k * 32 + t);
        asm volatile("cp.async.commit_group;" ::: "memory");
    }
    float4 sum = {};
    for (int k = 0; k < n; ++k) {
        asm volatile("cp.async.wait_group 1;" ::: "memory");
        __syncthreads();
        if (k + 2 < n) copy_four(&stages[(k + 2) % 3][t], x + (k + 2) * 32 + t);
        // broken: if (k + 2 < n) asm volatile("cp.async.commit_group;");
        asm volatile("cp.async.commit_group;" ::: "memory");
        const float4 v = stages[k % 3][31 - t];
        sum.x += v.x, sum.y += v.y, sum.z += v.z, sum.w += v.w;
    }
    y[blockIdx.x * 32 + t] = sum;
}
