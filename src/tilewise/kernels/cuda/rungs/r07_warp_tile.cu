// r07  warp tile: a warp's threads lie 4 x 8 over a compact tile, so that the words it reads are few and shared by many.
//
//        r06: 2 x 16 threads         r07: 4 x 8 threads, WM x WN = 4 TM x 8 TN
//      +----------------------+        +-----------+   lane  0  2  4 .. 14
//   16 |                      |     32 |           |         1  3  5 .. 15
//      +----------------------+        |           |        16 18 20 .. 30
//                128                   +-----------+        17 19 21 .. 31
//      16 + 128 words per kk                64
//                                   32 + 64 words per kk
//
//   Sixteen bytes a lane take four wavefronts, but two where lanes agree in
//   pairs: lane and lane ^ 1 read one float4 of b_tile, lane and lane ^ 2 one
//   of a_tile. 8 wavefronts per kk instead of 12.
//
// Removes: a third of the shared-memory wavefronts.
// Left:    the multiply-adds themselves: one a lane and clock is all that these units give.
#include "async_copy.cuh"
#include "operand.cuh"

constexpr int DOWN = 4, ACROSS = 8;                          // threads down and across a warp's tile
constexpr int WM = DOWN * plan::TM, WN = ACROSS * plan::TN;  // warp tile
constexpr int THREADS = 32 * (plan::BM / WM) * (plan::BN / WN);
constexpr int PAD = 4;  // words a row of a transposed tile: keeps float4s aligned and, with BK = 8, a warp's stores in 32 banks

extern "C" __global__ void __launch_bounds__(THREADS)
    gemm(const float* __restrict__ A, const float* __restrict__ B, float* __restrict__ C, int M, int N, int K, int lda, int ldb, int ldc) {
    using namespace plan;
    static_assert(BM % WM == 0 && BN % WN == 0, "r07's warp tiles cover the block tile: 4 TM divides BM, 8 TN divides BN");
    static_assert(TM % 4 == 0 && TN % 4 == 0, "r07 reads four words at a time: 4 divides TM and TN");
    static_assert(TM * TN + TM + TN <= 255, "r07 keeps accumulators and fragments in a thread's 255 registers");

    __shared__ __align__(16) float a_tile[2][BK][BM + (A_ROW_MAJOR ? PAD : 0)];
    __shared__ __align__(16) float b_tile[2][BK][BN + (B_ROW_MAJOR ? 0 : PAD)];

    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int lane_row = lane / 16 * 2 + lane % 2, lane_col = lane / 2 % 8;
    const int thread_row = warp / (BN / WN) * WM + lane_row * 4, thread_col = warp % (BN / WN) * WN + lane_col * 4;
    const int block_row = blockIdx.y * BM, block_col = blockIdx.x * BN;
    const bool a_aligned = is_aligned(A, lda), b_aligned = is_aligned(B, ldb);

    const auto copy_tiles = [&](int stage, int k0) {
        const float *a_from = &A[a_index(block_row, k0, lda)], *b_from = &B[b_index(k0, block_col, ldb)];
        copy_tile_async(a_tile[stage], BM, THREADS, A_ROW_MAJOR, a_from, lda, a_aligned, M - block_row, K - k0);
        copy_tile_async(b_tile[stage], BN, THREADS, !B_ROW_MAJOR, b_from, ldb, b_aligned, N - block_col, K - k0);
        cp_async_commit_group();
    };

    float acc[TM][TN] = {};
    int stage = 0;
    copy_tiles(stage, 0);
#pragma unroll 1  // one k-step a round, as written
    for (int k0 = 0; k0 < K; k0 += BK, stage ^= 1) {
        cp_async_wait_group<0>();  // this thread's copies are in
        __syncthreads();           // so are everyone's, and nobody reads the other stage any more
        if (k0 + BK < K) copy_tiles(stage ^ 1, k0 + BK);

#pragma unroll
        for (int kk = 0; kk < BK; ++kk) {
            float4 a_frag[TM / 4], b_frag[TN / 4];
#pragma unroll
            for (int i = 0; i < TM / 4; ++i) a_frag[i] = *reinterpret_cast<float4*>(&a_tile[stage][kk][4 * i * DOWN + thread_row]);
#pragma unroll
            for (int j = 0; j < TN / 4; ++j) b_frag[j] = *reinterpret_cast<float4*>(&b_tile[stage][kk][4 * j * ACROSS + thread_col]);
#pragma unroll
            for (int i = 0; i < TM; ++i)
#pragma unroll
                for (int j = 0; j < TN; ++j) acc[i][j] += (&a_frag[i / 4].x)[i % 4] * (&b_frag[j / 4].x)[j % 4];
        }
    }

    const bool whole = is_aligned(C, ldc) && block_row + BM <= M && block_col + BN <= N;
#pragma unroll
    for (int i = 0; i < TM; ++i)
#pragma unroll
        for (int j = 0; j < TN; j += 4) {
            const int row = block_row + i / 4 * 4 * DOWN + thread_row + i % 4, col = block_col + j * ACROSS + thread_col;
            float* to = &C[c_index(row, col, ldc)];
            if (whole) {
                *reinterpret_cast<float4*>(to) = {acc[i][j], acc[i][j + 1], acc[i][j + 2], acc[i][j + 3]};
            } else {
#pragma unroll
                for (int q = 0; q < 4; ++q)
                    if (row < M && col + q < N) to[q] = acc[i][j + q];
            }
        }
}
