// A counter of a block's own takes atomics of the block's scope, one of the grid's atomics of the device's.
// tilewise: --grid 3 --block 64 --arg x=s32[3,64]:uniform(-9,9) --arg own=u32[3]:zeros --arg all=u32[1]:zeros
extern "C" __global__ void count_positive(const int* x, unsigned* own, unsigned* all) {
    const bool is_positive = x[blockIdx.x * 64 + threadIdx.x] > 0;
    if (is_positive) atomicAdd_block(&own[blockIdx.x], 1u);
    // broken: if (is_positive) atomicAdd_block(all, 1u);
    if (is_positive) atomicAdd(all, 1u);
}
