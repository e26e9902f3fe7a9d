// A scan over the grid in one pass: each block looks back at what the blocks before it have published.
// tilewise: --grid 6 --block 64 --arg x=s32[384]:uniform(-50,50) --arg y=s32[384]
// tilewise: --arg sums=s32[6] --arg states=u32[6]:zeros --arg next=u32[1]:zeros
extern "C" __global__ void scan(const int* x, int* y, int* sums, unsigned* states, unsigned* next) {
    __shared__ int block, before;
    __shared__ int s[2][64];
    const int t = threadIdx.x;
    if (t == 0) block = atomicAdd(next, 1u);
    __syncthreads();
    int now = 0;
    s[0][t] = x[block * 64 + t];
    __syncthreads();
    for (int d = 1; d < 64; d *= 2, now ^= 1) {
        s[now ^ 1][t] = s[now][t] + (t >= d ? s[now][t - d] : 0);
        __syncthreads();
    }
    if (t == 0) {
        before = 0;
        if (block > 0) {
            while (((volatile unsigned*)states)[block - 1] == 0) {
            }
            __threadfence();
            before = sums[block - 1];
        }
        sums[block] = before + s[now][63];
        // broken:
        __threadfence();
        ((volatile unsigned*)states)[block] = 1;
    }
    __syncthreads();
    y[block * 64 + t] = before + s[now][t];
}
