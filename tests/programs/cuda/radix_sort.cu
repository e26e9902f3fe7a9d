// One pass of a least-significant-digit radix sort, 4 bits, keys with values, stable: count each block's digits, scan the counts digit by
// digit over all blocks, move every pair to its place. A warp ranks its equal digits with match.any; warps are ranked in shared memory.
constexpr int DIGITS = 16;
constexpr int MAX_WARPS = 8;

__device__ int digit_of(unsigned key, int shift) { return key >> shift & (DIGITS - 1); }

// counts[digit * gridDim.x + block]
extern "C" __global__ void count_digits(const unsigned* keys, unsigned* counts, int shift, int n) {
    __shared__ unsigned in_block[DIGITS];
    if (threadIdx.x < DIGITS) in_block[threadIdx.x] = 0;
    __syncthreads();
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&in_block[digit_of(keys[i], shift)], 1);
    __syncthreads();
    if (threadIdx.x < DIGITS) counts[threadIdx.x * gridDim.x + blockIdx.x] = in_block[threadIdx.x];
}

// counts become offsets: what stands before each. One warp.
extern "C" __global__ void scan_counts(unsigned* counts, int n) {
    const int lane = threadIdx.x;
    unsigned before = 0;
    for (int start = 0; start < n; start += 32) {
        const unsigned own = start + lane < n ? counts[start + lane] : 0;
        unsigned sum = own;
        for (int step = 1; step < 32; step *= 2) {
            const unsigned left = __shfl_up_sync(0xffffffffu, sum, step);
            if (lane >= step) sum += left;
        }
        if (start + lane < n) counts[start + lane] = before + sum - own;
        before += __shfl_sync(0xffffffffu, sum, 31);
    }
}

extern "C" __global__ void scatter(const unsigned* keys, const unsigned* values, const unsigned* offsets, unsigned* sorted_keys,
                                   unsigned* sorted_values, int shift, int n) {
    __shared__ unsigned in_warp[MAX_WARPS][DIGITS];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int j = threadIdx.x; j < MAX_WARPS * DIGITS; j += blockDim.x) in_warp[j / DIGITS][j % DIGITS] = 0;
    __syncthreads();
    unsigned key = 0, rank = 0;
    int digit = 0;
    if (i < n) {
        key = keys[i];
        digit = digit_of(key, shift);
        const unsigned same = __match_any_sync(__activemask(), digit);
        rank = __popc(same & ((1u << lane) - 1));
        if (rank == 0) in_warp[warp][digit] = __popc(same);
    }
    __syncthreads();
    if (i >= n) return;
    unsigned place = offsets[digit * gridDim.x + blockIdx.x] + rank;
    for (int before = 0; before < warp; ++before) place += in_warp[before][digit];
    sorted_keys[place] = key;
    sorted_values[place] = values[i];
}
