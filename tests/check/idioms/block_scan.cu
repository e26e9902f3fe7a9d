// An inclusive scan in place: all have read before anyone writes.
// tilewise: --grid 2 --block 160 --arg x=s32[2,160]:uniform(-50,50) --arg y=s32[2,160]
extern "C" __global__ void scan(const int* x, int* y) {
    __shared__ int s[160];
    const int t = threadIdx.x;
    s[t] = x[blockIdx.x * 160 + t];
    __syncthreads();
    for (int d = 1; d < 160; d *= 2) {
        const int left = t >= d ? s[t - d] : 0;
        // broken:
        __syncthreads();
        s[t] += left;
        __syncthreads();
    }
    y[blockIdx.x * 160 + t] = s[t];
}
