// The least value spreads over a ring until a barrier has counted no change: it orders the steps too.
// tilewise: --grid 2 --block 96 --arg x=s32[2,96]:uniform(-99,99) --arg y=s32[2,96]
extern "C" __global__ void spread_least(const int* x, int* y) {
    __shared__ int slots[2][96];
    const int t = threadIdx.x;
    int now = 0, own = x[blockIdx.x * 96 + t], before;
    slots[0][t] = own;
    __syncthreads();
    do {
        before = own;
        own = min(own, min(slots[now][(t + 95) % 96], slots[now][(t + 1) % 96]));
        slots[now ^= 1][t] = own;
        // broken: } while (__any_sync(~0u, own != before));
    } while (__syncthreads_or(own != before));
    y[blockIdx.x * 96 + t] = own;
}
