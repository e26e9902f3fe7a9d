// Bitonic sort, all comparators upwards: a merge begins by comparing mirrored partners, so that whatever stands past the end counts as
// greatest and never moves. Tiles are sorted in shared memory; larger merges begin in global memory and end in shared memory.
constexpr int TILE = 256;  // items; half as many threads

__device__ void compare(int* low, int* high) {
    if (*low > *high) {
        const int kept = *low;
        *low = *high;
        *high = kept;
    }
}

// Comparator `pair` of a step that compares across `distance`; mirrored at the start of a merge of 2 * distance items.
__device__ int2 places(int pair, int distance, bool mirrored) {
    const int first = pair / distance * 2 * distance, low = first + pair % distance;
    return make_int2(low, mirrored ? first + 2 * distance - 1 - pair % distance : low + distance);
}

__device__ void steps_in_tile(int* tile, int distance, bool mirrored) {
    for (; distance; distance /= 2, mirrored = false) {
        const int2 at = places(threadIdx.x, distance, mirrored);
        compare(&tile[at.x], &tile[at.y]);
        __syncthreads();
    }
}

// Sort each tile (merge = 0), or finish its share of a merge whose steps across more than a tile are done.
extern "C" __global__ void __launch_bounds__(TILE / 2) sort_tiles(int* items, int n, int merge) {
    __shared__ int tile[TILE];
    const int start = blockIdx.x * TILE;
    for (int i = threadIdx.x; i < TILE; i += TILE / 2) tile[i] = start + i < n ? items[start + i] : 0x7fffffff;
    __syncthreads();
    if (merge) {
        steps_in_tile(tile, TILE / 2, false);
    } else {
        for (int distance = 1; distance < TILE; distance *= 2) steps_in_tile(tile, distance, true);
    }
    for (int i = threadIdx.x; i < TILE; i += TILE / 2)
        if (start + i < n) items[start + i] = tile[i];
}

extern "C" __global__ void step(int* items, int n, int distance, int mirrored) {
    const int2 at = places(blockIdx.x * blockDim.x + threadIdx.x, distance, mirrored);
    if (at.y < n) compare(&items[at.x], &items[at.y]);
}
