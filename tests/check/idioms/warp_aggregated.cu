// Lanes that keep an element share one atomic a warp, then take the places behind each other.
// tilewise: --grid 3 --block 64 --arg x=s32[192]:uniform(-9,9) --arg kept=s32[192]:zeros --arg count=u32[1]:zeros
extern "C" __global__ void keep_positive(const int* x, int* kept, unsigned* count) {
    const int lane = threadIdx.x % 32, v = x[blockIdx.x * 64 + threadIdx.x];
    const unsigned votes = __ballot_sync(0xffffffffu, v > 0);
    unsigned first = 0;
    if (lane == 0) first = atomicAdd(count, unsigned(__popc(votes)));
    first = __shfl_sync(0xffffffffu, first, 0);
    // broken: const int place = __popc(votes & ((1u << lane) - 1)) / 2;
    const int place = __popc(votes & ((1u << lane) - 1));
    if (v > 0) kept[first + place] = v;
}
