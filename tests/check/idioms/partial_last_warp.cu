// A block of 50 threads for 45 elements: lanes leave before the shuffles, which name by ballot those that stay.
// tilewise: --grid 1 --block 50 --arg x=s32[45]:uniform(0,9) --arg y=s32[2] --arg n=45
extern "C" __global__ void sum(const int* x, int* y, int n) {
    const int i = threadIdx.x, lane = i % 32;
    const unsigned staying = __ballot_sync(i < 32 ? ~0u : (1u << 18) - 1, i < n);
    if (i >= n) return;
    int v = x[i];
    for (int o = 16; o > 0; o /= 2) {
        // broken: const int other = __shfl_down_sync(~0u, v, o);
        const int other = __shfl_down_sync(staying, v, o);
        if (lane + o < 32 && i + o < n) v += other;
    }
    if (lane == 0) y[i / 32] = v;
}
