// The K greatest of each row with their places, greatest first, ties by the lower place. A thread keeps its K best in a local array by
// insertion; then the block takes the best head among all threads' lists, K times.
constexpr int K = 5;
constexpr unsigned ALL = 0xffffffffu;

// Orders as (value, then the lower place): the bits of a float, turned so that they compare as integers do.
__device__ unsigned long long rank_of(float value, unsigned place) {
    const unsigned bits = __float_as_uint(value);
    return (unsigned long long)(bits >> 31 ? ~bits : bits | 0x80000000u) << 32 | ~place;
}

__device__ float value_of(unsigned long long rank) {
    const unsigned bits = (unsigned)(rank >> 32);
    return __uint_as_float(bits >> 31 ? bits & 0x7fffffffu : ~bits);
}

__device__ unsigned long long greatest_of_block(unsigned long long rank, unsigned long long* of_warp) {
    for (int step = 16; step; step /= 2) rank = max(rank, __shfl_xor_sync(ALL, rank, step));
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = rank;
    __syncthreads();
    rank = 0;
    for (int warp = 0; warp < blockDim.x / 32; ++warp) rank = max(rank, of_warp[warp]);
    __syncthreads();
    return rank;
}

// One block a row; whole warps.
extern "C" __global__ void top_k(const float* in, float* values, int* places, int columns) {
    __shared__ unsigned long long of_warp[32];
    unsigned long long best[K + 1];
    int kept = 0;
    for (int column = threadIdx.x; column < columns; column += blockDim.x) {
        const unsigned long long rank = rank_of(in[(size_t)blockIdx.x * columns + column], column);
        int at = kept;
        while (at > 0 && best[at - 1] < rank) {
            best[at] = best[at - 1];
            --at;
        }
        best[at] = rank;
        if (kept < K) ++kept;
    }
    int head = 0;
    for (int k = 0; k < K; ++k) {
        const unsigned long long own = head < kept ? best[head] : 0, greatest = greatest_of_block(own, of_warp);
        if (own == greatest && own) ++head;
        if (threadIdx.x == 0) {
            values[blockIdx.x * K + k] = value_of(greatest);
            places[blockIdx.x * K + k] = (int)~(unsigned)greatest;
        }
    }
}
