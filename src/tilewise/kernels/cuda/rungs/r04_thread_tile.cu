// r04  thread tile: each thread keeps TM x TN outputs in registers and reuses each word it reads from shared memory.
//
//            b_frag  TN words      per kk: read TM + TN words from shared memory,
//            +-+-+-+-+             then TM x TN multiply-adds from registers.
//   a_frag   +-+-+-+-+
//    TM  +-+ +-+-+-+-+             words a multiply-add: (TM + TN) / (TM TN),
//  words | | | | acc | |           2 in r03, 1/4 with an 8 x 8 thread tile,
//        +-+ +-+-+-+-+             9/8 with a column of 8 (TN = 1).
//
// Removes: shared-memory words, by reuse in registers.
// Left:    bank conflicts (threads read b_tile TN words apart) and one shared load a word.
#include "banks.cuh"
#include "operand.cuh"

constexpr int THREADS = plan::BM / plan::TM * (plan::BN / plan::TN);

extern "C" __global__ void __launch_bounds__(THREADS)
    gemm(const float* __restrict__ A, const float* __restrict__ B, float* __restrict__ C, int M, int N, int K, int lda, int ldb, int ldc) {
    using namespace plan;
    static_assert(BM % TM == 0 && BN % TN == 0, "r04's thread tiles cover the block tile: TM divides BM, TN divides BN");
    static_assert(TM * TN + TM + TN <= 255, "r04 keeps accumulators and fragments in a thread's 255 registers");

    // A is stored k first, so that a thread's TM words of a_frag stand side by side. An operand whose order in memory differs from
    // its tile's is transposed on its way in, into padded rows.
    __shared__ float a_tile[BK][BM + (A_ROW_MAJOR ? bank_pad(BK) : 0)];
    __shared__ float b_tile[BK][BN + (B_ROW_MAJOR ? 0 : bank_pad(BK))];

    const int thread = threadIdx.x;
    const int thread_row = thread / (BN / TN) * TM, thread_col = thread % (BN / TN) * TN;
    const int block_row = blockIdx.y * BM, block_col = blockIdx.x * BN;

    float acc[TM][TN] = {};
#pragma unroll 1  // one k-step a round, as written
    for (int k0 = 0; k0 < K; k0 += BK) {
        // All threads copy, each walking the operand along its own memory order, so that copies coalesce.
#pragma unroll
        for (int first = 0; first < BM * BK; first += THREADS) {
            const int i = first + thread;
            if (BM * BK % THREADS && i >= BM * BK) break;
            const int row = A_ROW_MAJOR ? i / BK : i % BM, k = A_ROW_MAJOR ? i % BK : i / BM;
            const bool inside = block_row + row < M && k0 + k < K;
            a_tile[k][row] = inside ? A[a_index(block_row + row, k0 + k, lda)] : 0.0f;
        }
#pragma unroll
        for (int first = 0; first < BK * BN; first += THREADS) {
            const int i = first + thread;
            if (BK * BN % THREADS && i >= BK * BN) break;
            const int k = B_ROW_MAJOR ? i / BN : i % BK, col = B_ROW_MAJOR ? i % BN : i / BK;
            const bool inside = k0 + k < K && block_col + col < N;
            b_tile[k][col] = inside ? B[b_index(k0 + k, block_col + col, ldb)] : 0.0f;
        }
        __syncthreads();  // the tiles are whole

#pragma unroll
        for (int kk = 0; kk < BK; ++kk) {
            float a_frag[TM], b_frag[TN];
#pragma unroll
            for (int i = 0; i < TM; ++i) a_frag[i] = a_tile[kk][thread_row + i];
#pragma unroll
            for (int j = 0; j < TN; ++j) b_frag[j] = b_tile[kk][thread_col + j];
#pragma unroll
            for (int i = 0; i < TM; ++i)
#pragma unroll
                for (int j = 0; j < TN; ++j) acc[i][j] += a_frag[i] * b_frag[j];
        }
        __syncthreads();  // nobody reads them any more
    }

#pragma unroll
    for (int i = 0; i < TM; ++i)
#pragma unroll
        for (int j = 0; j < TN; ++j) {
            const int row = block_row + thread_row + i, col = block_col + thread_col + j;
            if (row < M && col < N) C[c_index(row, col, ldc)] = acc[i][j];
        }
}
