// An fp32 product in the shape of cuBLAS's own: two tiles in shared memory, the next one on its way through registers (A, transposed)
// and cp.async (B), 2 blocks an SM. Sizes that the tiles divide, 16-byte aligned rows; A is M x K, B is K x N or (B_BY_K) N x K.
// Macros: BM BN BK TM TN, WARPS_DOWN WARPS_ACROSS, BLOCKS_PER_SM, FRAGMENTS (1, or 2 to load ahead), ORDER of the multiply-adds.
#ifndef B_BY_K
#define B_BY_K 0
#endif

constexpr int DOWN = BM / WARPS_DOWN / TM, ACROSS = BN / WARPS_ACROSS / TN;  // threads down and across a warp's tile
constexpr int THREADS = 32 * WARPS_DOWN * WARPS_ACROSS;
constexpr int A_ROW = BM + 4, B_ROW = B_BY_K ? BN + 4 : BN;  // padded where a tile is transposed on its way in
constexpr int A_TILE = BK * A_ROW, B_TILE = BK * B_ROW;
constexpr int A_COPIES = BM * BK / 4 / THREADS, B_COPIES = BN * BK / 4 / THREADS;  // float4s a thread
constexpr bool B_ASYNC = !B_BY_K;
constexpr int TILES_A_GROUP = 8;  // rows of tiles that run together, so that they share columns of B in the L2
static_assert(DOWN * ACROSS == 32 && (DOWN == 4 || DOWN == 8), "a warp is 4 x 8 or 8 x 4 threads");
static_assert(A_COPIES >= 1 && B_COPIES >= 1, "every thread copies");

__device__ __forceinline__ void copy_async(float* shared, const float* global) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(unsigned(__cvta_generic_to_shared(shared))),
                 "l"(__cvta_generic_to_global(global))
                 : "memory");
}

__device__ __forceinline__ void store_column(float* column, int row, float4 four) {
    column[0] = four.x, column[row] = four.y, column[2 * row] = four.z, column[3 * row] = four.w;
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS_PER_SM)
    gemm(const float* __restrict__ A, const float* __restrict__ B, float* __restrict__ C, int M, int N, int K, int lda, int ldb, int ldc) {
    extern __shared__ __align__(16) float shared[];
    float *const a_tiles = shared, *const b_tiles = shared + 2 * A_TILE;

    const int number = blockIdx.y * gridDim.x + blockIdx.x, group = number / (TILES_A_GROUP * gridDim.x);
    const int in_group = number % (TILES_A_GROUP * gridDim.x), rows = min(TILES_A_GROUP, int(gridDim.y) - group * TILES_A_GROUP);
    const int block_row = (group * TILES_A_GROUP + in_group % rows) * BM, block_col = in_group / rows * BN;

    // Lanes agree in pairs on what they read of either tile: two wavefronts a float4 instead of four.
    const int thread = threadIdx.x, warp = thread / 32, lane = thread % 32;
    const int lane_row = lane / (2 * ACROSS) * 2 + lane % 2, lane_col = lane / 2 % ACROSS;
    const int thread_row = warp / WARPS_ACROSS * (BM / WARPS_DOWN) + lane_row * 4;
    const int thread_col = warp % WARPS_ACROSS * (BN / WARPS_ACROSS) + lane_col * 4;

    const float *a_from[A_COPIES], *b_from[B_COPIES];
    int a_to[A_COPIES], b_to[B_COPIES];
#pragma unroll
    for (int i = 0; i < A_COPIES; ++i) {
        const int q = thread + i * THREADS, k = q % (BK / 4) * 4, row = q / (BK / 4);
        a_from[i] = A + size_t(block_row + row) * lda + k, a_to[i] = k * A_ROW + row;
    }
#pragma unroll
    for (int i = 0; i < B_COPIES; ++i) {
        const int q = thread + i * THREADS;
        const int k = B_BY_K ? q % (BK / 4) * 4 : q / (BN / 4), col = B_BY_K ? q / (BK / 4) : q % (BN / 4) * 4;
        b_from[i] = B + (B_BY_K ? size_t(block_col + col) * ldb + k : size_t(k) * ldb + block_col + col), b_to[i] = k * B_ROW + col;
    }

    float4 a_next[A_COPIES], b_next[B_COPIES];
    const auto fetch = [&](int stage) {
#pragma unroll
        for (int i = 0; i < A_COPIES; ++i) a_next[i] = *reinterpret_cast<const float4*>(a_from[i]), a_from[i] += BK;
#pragma unroll
        for (int i = 0; i < B_COPIES; ++i) {
            if (B_ASYNC) copy_async(b_tiles + stage * B_TILE + b_to[i], b_from[i]);
            if (!B_ASYNC) b_next[i] = *reinterpret_cast<const float4*>(b_from[i]);
            b_from[i] += B_BY_K ? size_t(BK) : size_t(BK) * ldb;
        }
        if (B_ASYNC) asm volatile("cp.async.commit_group;" ::: "memory");
    };
    const auto put = [&](int stage) {
#pragma unroll
        for (int i = 0; i < A_COPIES; ++i) store_column(a_tiles + stage * A_TILE + a_to[i], A_ROW, a_next[i]);
#pragma unroll
        for (int i = 0; i < B_COPIES; ++i)
            if (!B_ASYNC) store_column(b_tiles + stage * B_TILE + b_to[i], B_ROW, b_next[i]);
        if (B_ASYNC) asm volatile("cp.async.wait_group 0;" ::: "memory");
    };

    float acc[TM][TN] = {}, a_frag[2][TM], b_frag[2][TN];
    const auto load = [&](int stage, int kk, int slot) {
        const float* a = a_tiles + stage * A_TILE + kk * A_ROW + thread_row;
        const float* b = b_tiles + stage * B_TILE + kk * B_ROW + thread_col;
#pragma unroll
        for (int i = 0; i < TM; i += 4) *reinterpret_cast<float4*>(&a_frag[slot][i]) = *reinterpret_cast<const float4*>(a + i * DOWN);
#pragma unroll
        for (int j = 0; j < TN; j += 4) *reinterpret_cast<float4*>(&b_frag[slot][j]) = *reinterpret_cast<const float4*>(b + j * ACROSS);
    };
    const auto multiply = [&](const float* a, const float* b) {
#pragma unroll
        for (int outer = 0; outer < (ORDER ? TN : TM); ++outer)
#pragma unroll
            for (int step = 0; step < (ORDER ? TM : TN); ++step) {  // back and forth, so that neighbours share an operand
                const int inner = outer % 2 ? (ORDER ? TM : TN) - 1 - step : step, i = ORDER ? inner : outer, j = ORDER ? outer : inner;
                acc[i][j] = fmaf(a[i], b[j], acc[i][j]);
            }
    };
    const auto k_step = [&](int stage, bool more) {
        if (more) fetch(stage ^ 1);
#pragma unroll
        for (int kk = 0; kk < BK; ++kk) {
            if (FRAGMENTS == 1) load(stage, kk, kk % 2);
            if (FRAGMENTS == 2 && kk + 1 < BK) load(stage, kk + 1, (kk + 1) % 2);
            if (FRAGMENTS == 2 && kk + 1 == BK && more) put(stage ^ 1), __syncthreads(), load(stage ^ 1, 0, 0);
            multiply(a_frag[kk % 2], b_frag[kk % 2]);
        }
        if (FRAGMENTS == 1 && more) put(stage ^ 1), __syncthreads();
    };

    fetch(0), put(0), __syncthreads();
    if (FRAGMENTS == 2) load(0, 0, 0);
    int left = K / BK;
#pragma unroll 1
    for (; left > 2; left -= 2) k_step(0, true), k_step(1, true);  // no test within, and stages that the compiler knows
    if (left == 2) k_step(0, true), k_step(1, false);
    if (left == 1) k_step(0, false);

    float* const out = C + size_t(block_row + thread_row) * ldc + block_col + thread_col;
#pragma unroll
    for (int i = 0; i < TM; ++i)
#pragma unroll
        for (int j = 0; j < TN; j += 4)
            *reinterpret_cast<float4*>(&out[size_t(i / 4 * 4 * DOWN + i % 4) * ldc + j * ACROSS]) =
                make_float4(acc[i][j], acc[i][j + 1], acc[i][j + 2], acc[i][j + 3]);
}
