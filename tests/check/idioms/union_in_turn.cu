// The same shared memory holds floats first and integers then, with a barrier between the two.
// tilewise: --grid 2 --block 128 --arg x=f32[2,128]:normal --arg y=f32[2,128] --arg k=s32[2,128]
extern "C" __global__ void rank_sorted(const float* x, float* y, int* k) {
    __shared__ union {
        float values[128];
        int ranks[128];
    } s;
    const int t = threadIdx.x;
    const float v = x[blockIdx.x * 128 + t];
    s.values[t] = v;
    __syncthreads();
    int rank = 0;
    for (int i = 0; i < 128; ++i) rank += s.values[i] < v;
    // broken:
    __syncthreads();
    s.ranks[t] = rank;
    __syncthreads();
    k[blockIdx.x * 128 + t] = s.ranks[127 - t];
    y[blockIdx.x * 128 + t] = v;
}
