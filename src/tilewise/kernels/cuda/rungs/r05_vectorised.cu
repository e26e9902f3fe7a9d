// r05  vectorised: memory is read and written four words at a time, and no two lanes meet in a bank.
//
//   A thread's TM x TN outputs are patches of 4 x 4, spread evenly over the
//   block tile:
//
//       0 1 2 3 .. | 0 1 2 3 ..     b_frag: neighbouring threads read
//      +-+-+-+-----+-+-+-+-----+    neighbouring float4s, so 8 lanes take
//      |0|1|2|3    |0|1|2|3    |    32 words from 32 banks in one wavefront.
//      +-+-+-+     +-+-+-+     |    In r04 they stood TN words apart and met
//      |16 ..      |16 ..      |    in the same banks.
//      +-----------+-----------+    One instruction brings four words: a
//      |0|1|2|3    |0|1|2|3    |    quarter of r04's loads.
//
// Removes: bank conflicts, scattered stores of C, and three of four memory instructions.
// Left:    latency: nobody computes while a tile is on its way from global memory.
#include "operand.cuh"

constexpr int DOWN = plan::BM / plan::TM, ACROSS = plan::BN / plan::TN;  // threads down and across the block tile
constexpr int THREADS = DOWN * ACROSS;
constexpr int PAD = 4;  // words a row of a transposed tile: keeps float4s aligned and, with BK = 8, a warp's stores in 32 banks

// Whether rows of an operand, or columns where those run along memory, begin at multiples of 16 bytes, as a float4 must.
__device__ __forceinline__ bool is_aligned(const float* operand, int leading) {
    return reinterpret_cast<size_t>(operand) % 16 == 0 && leading % 4 == 0;
}

// Copies one tile, tile[k][line], of WIDTH lines; `k_runs` where k, not the line, runs along memory: then it is transposed on its way.
// `lines` and `depth` of them are left before the operand's edge; past it stand zeros. All threads of the block take part.
template <int STRIDE>
__device__ __forceinline__ void copy_tile(float (&tile)[plan::BK][STRIDE], int WIDTH, bool k_runs, const float* from, int leading,
                                          bool aligned, int lines, int depth) {
    constexpr int BK = plan::BK;
    const int RUN = k_runs ? BK : WIDTH;
    if (aligned && lines >= WIDTH && depth >= BK) {
#pragma unroll
        for (int first = 0; first < BK * WIDTH; first += 4 * THREADS) {
            const unsigned i = first + 4 * threadIdx.x;
            if (BK * WIDTH % (4 * THREADS) && i >= BK * WIDTH) break;
            const float4 four = *reinterpret_cast<const float4*>(&from[size_t(i / RUN) * leading + i % RUN]);
            if (k_runs) {
                float* column = &tile[i % RUN][i / RUN];
                column[0] = four.x, column[STRIDE] = four.y, column[2 * STRIDE] = four.z, column[3 * STRIDE] = four.w;
            } else {
                *reinterpret_cast<float4*>(&tile[i / RUN][i % RUN]) = four;
            }
        }
        return;
    }
#pragma unroll
    for (int first = 0; first < BK * WIDTH; first += THREADS) {
        const unsigned i = first + threadIdx.x;
        if (BK * WIDTH % THREADS && i >= BK * WIDTH) break;
        const int k = k_runs ? i % RUN : i / RUN, line = k_runs ? i / RUN : i % RUN;
        tile[k][line] = k < depth && line < lines ? from[size_t(i / RUN) * leading + i % RUN] : 0.0f;
    }
}

extern "C" __global__ void __launch_bounds__(THREADS)
    gemm(const float* __restrict__ A, const float* __restrict__ B, float* __restrict__ C, int M, int N, int K, int lda, int ldb, int ldc) {
    using namespace plan;
    static_assert(BM % TM == 0 && BN % TN == 0, "r05's thread tiles cover the block tile: TM divides BM, TN divides BN");
    static_assert(TM % 4 == 0 && TN % 4 == 0 && BK % 4 == 0, "r05 moves four words at a time: 4 divides TM, TN and BK");
    static_assert(TM * TN + TM + TN <= 255, "r05 keeps accumulators and fragments in a thread's 255 registers");

    __shared__ __align__(16) float a_tile[BK][BM + (A_ROW_MAJOR ? PAD : 0)];
    __shared__ __align__(16) float b_tile[BK][BN + (B_ROW_MAJOR ? 0 : PAD)];

    const int thread_row = threadIdx.x / ACROSS * 4, thread_col = threadIdx.x % ACROSS * 4;
    const int block_row = blockIdx.y * BM, block_col = blockIdx.x * BN;
    const bool a_aligned = is_aligned(A, lda), b_aligned = is_aligned(B, ldb);

    float acc[TM][TN] = {};
#pragma unroll 1  // one k-step a round, as written
    for (int k0 = 0; k0 < K; k0 += BK) {
        copy_tile(a_tile, BM, A_ROW_MAJOR, &A[a_index(block_row, k0, lda)], lda, a_aligned, M - block_row, K - k0);
        copy_tile(b_tile, BN, !B_ROW_MAJOR, &B[b_index(k0, block_col, ldb)], ldb, b_aligned, N - block_col, K - k0);
        __syncthreads();  // the tiles are whole

#pragma unroll
        for (int kk = 0; kk < BK; ++kk) {
            float4 a_frag[TM / 4], b_frag[TN / 4];
#pragma unroll
            for (int i = 0; i < TM / 4; ++i) a_frag[i] = *reinterpret_cast<float4*>(&a_tile[kk][4 * i * DOWN + thread_row]);
#pragma unroll
            for (int j = 0; j < TN / 4; ++j) b_frag[j] = *reinterpret_cast<float4*>(&b_tile[kk][4 * j * ACROSS + thread_col]);
#pragma unroll
            for (int i = 0; i < TM; ++i)
#pragma unroll
                for (int j = 0; j < TN; ++j) acc[i][j] += (&a_frag[i / 4].x)[i % 4] * (&b_frag[j / 4].x)[j % 4];
        }
        __syncthreads();  // nobody reads them any more
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
