// Prefix sum in a single pass with decoupled look-back (Merrill and Garland, 2016). A tile publishes its own sum as soon as it has it, then
// its whole prefix; it finds what stands before it by looking back over its predecessors' words, 32 at a time, to the nearest prefix.
// Tiles are numbered as they start, so that a tile only ever waits for one that has started.
constexpr int ITEMS = 4;
constexpr int MAX_THREADS = 256;
constexpr unsigned ALL = 0xffffffffu;

enum Kind : unsigned { NOTHING = 0, SUM = 1, PREFIX = 2 };

struct alignas(8) State {
    unsigned value;
    Kind kind;
};

__device__ void publish(unsigned long long* states, int tile, Kind kind, unsigned value) {
    *(volatile unsigned long long*)&states[tile] = (unsigned long long)kind << 32 | value;
}

__device__ State read_state(const unsigned long long* states, int tile) {
    if (tile < 0) return {0, PREFIX};
    const unsigned long long word = *(const volatile unsigned long long*)&states[tile];
    return {(unsigned)word, (Kind)(word >> 32)};
}

// By one whole warp: the sum of all that stands before `tile`.
__device__ unsigned look_back(const unsigned long long* states, int tile) {
    const int lane = threadIdx.x % 32;
    unsigned before = 0;
    for (int last = tile - 1;; last -= 32) {
        State state;
        do state = read_state(states, last - lane);
        while (__any_sync(ALL, state.kind == NOTHING));
        const unsigned prefixes = __ballot_sync(ALL, state.kind == PREFIX);
        const int first = prefixes ? __ffs(prefixes) - 1 : 31;
        unsigned sum = lane <= first ? state.value : 0;
        for (int step = 16; step; step /= 2) sum += __shfl_xor_sync(ALL, sum, step);
        before += sum;
        if (prefixes) return before;
    }
}

// Inclusive prefix over the block's threads, of any number.
__device__ unsigned scan_block(unsigned value, unsigned* buffer) {
    const int thread = threadIdx.x;
    buffer[thread] = value;
    __syncthreads();
    for (int step = 1; step < blockDim.x; step *= 2) {
        const unsigned left = thread >= step ? buffer[thread - step] : 0;
        __syncthreads();
        buffer[thread] += left;
        __syncthreads();
    }
    return buffer[thread];
}

// out[i] = in[0] + ... + in[i]. `states` (a word a tile) and `started` are zero before the launch.
extern "C" __global__ void scan(const unsigned* in, unsigned* out, unsigned long long* states, int* started, int n) {
    __shared__ unsigned buffer[MAX_THREADS];
    __shared__ unsigned before;
    __shared__ int tile;
    if (threadIdx.x == 0) tile = atomicAdd(started, 1);
    __syncthreads();

    const int start = (tile * blockDim.x + threadIdx.x) * ITEMS;
    unsigned items[ITEMS], sum = 0;
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) items[i] = sum += start + i < n ? in[start + i] : 0;
    const unsigned through = scan_block(sum, buffer);

    if (threadIdx.x < 32) {  // one warp publishes both, so that the sum never replaces the prefix
        const unsigned total = buffer[blockDim.x - 1];
        if (threadIdx.x == 0) publish(states, tile, tile ? SUM : PREFIX, total);
        const unsigned found = look_back(states, tile);
        if (threadIdx.x == 0) {
            before = found;
            if (tile) publish(states, tile, PREFIX, found + total);
        }
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < ITEMS; ++i)
        if (start + i < n) out[start + i] = before + through - sum + items[i];
}
