// r06  double buffer: while the block computes on one pair of tiles, the next pair is on its way into the other.
//
//   stage 0   copy 0 | compute 0 | copy 2    | compute 2 ..
//   stage 1          | copy 1    | compute 1 | copy 3    ..
//                    ^           ^           ^
//                    wait for this thread's copies, then one barrier: now
//                    everyone's copies are in, and everyone is done with the
//                    tiles that are copied over next.
//
//   cp.async takes a word from global to shared memory with no register
//   between and nobody waiting for it.
//
// Removes: latency, hidden behind the multiply-adds of the k-step before; and one of two barriers.
// Left:    shared-memory wavefronts: a warp's threads lie 2 x 16, so it reads a wide strip of b_tile for few rows.
#include "async_copy.cuh"
#include "operand.cuh"

constexpr int DOWN = plan::BM / plan::TM, ACROSS = plan::BN / plan::TN;  // threads down and across the block tile
constexpr int THREADS = DOWN * ACROSS;
constexpr int PAD = 4;  // words a row of a transposed tile: keeps float4s aligned and, with BK = 8, a warp's stores in 32 banks

extern "C" __global__ void __launch_bounds__(THREADS)
    gemm(const float* __restrict__ A, const float* __restrict__ B, float* __restrict__ C, int M, int N, int K, int lda, int ldb, int ldc) {
    using namespace plan;
    static_assert(BM % TM == 0 && BN % TN == 0, "r06's thread tiles cover the block tile: TM divides BM, TN divides BN");
    static_assert(TM % 4 == 0 && TN % 4 == 0, "r06 reads four words at a time: 4 divides TM and TN");
    static_assert(TM * TN + TM + TN <= 255, "r06 keeps accumulators and fragments in a thread's 255 registers");

    __shared__ __align__(16) float a_tile[2][BK][BM + (A_ROW_MAJOR ? PAD : 0)];
    __shared__ __align__(16) float b_tile[2][BK][BN + (B_ROW_MAJOR ? 0 : PAD)];

    const int thread_row = threadIdx.x / ACROSS * 4, thread_col = threadIdx.x % ACROSS * 4;
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
