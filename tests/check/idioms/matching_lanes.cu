// Lanes with the same value elect one that adds for all of them, in a branch that not all lanes take.
// tilewise: --grid 2 --block 64 --arg x=s32[128]:uniform(0,5) --arg counts=s32[8]:zeros
extern "C" __global__ void count(const int* x, int* counts) {
    const int v = x[blockIdx.x * 64 + threadIdx.x], lane = threadIdx.x % 32;
    if (v != 3) {
        const unsigned same = __match_any_sync(__activemask(), v);
        // broken: if (lane == __ffs(same) - 1) counts[v] += __popc(same);
        if (lane == __ffs(same) - 1) atomicAdd(&counts[v], __popc(same));
    }
    __syncwarp();
    const int others = __reduce_add_sync(~0u, v == 3);
    if (lane == 0) atomicAdd(&counts[3], others);
}
