// r03  smem tile: the block stages one tile of A and one of B in shared memory and reuses each word S times.
//
//                 B         per k-step, between two barriers:
//              +-----+        copy    S x S words of A, S x S words of B
//              |#####| k0     barrier the tiles are whole
//              +-----+        compute S multiply-adds a thread, from shared memory
//        A     +-----+        barrier everyone is done with them
//     +--#--+  |     |
//     |  #  |->|  C  |      global loads: 2 M N K / S words instead of 2 M N K.
//     +--#--+  +-----+
//        k0
//
// Removes: global traffic, by the tile side S.
// Left:    shared-memory bandwidth: two words are read from shared memory for one multiply-add.
#include "banks.cuh"
#include "operand.cuh"

extern "C" __global__ void __launch_bounds__(plan::BM* plan::BN)
    gemm(const float* __restrict__ A, const float* __restrict__ B, float* __restrict__ C, int M, int N, int K, int lda, int ldb, int ldc) {
    constexpr int S = plan::BM;
    static_assert(plan::BN == S && plan::BK == S, "r03 copies square tiles with one thread an element: BM = BN = BK");
    static_assert(plan::TM == 1 && plan::TN == 1, "r03 gives each thread one output: TM = TN = 1");

    // Threads walk an operand along its own memory order, so that copies coalesce. A column-major operand is transposed on its way
    // into shared memory, and padding keeps that store clear of bank conflicts.
    __shared__ float a_tile[S][S + (plan::A_ROW_MAJOR ? 0 : bank_pad(S))];
    __shared__ float b_tile[S][S + (plan::B_ROW_MAJOR ? 0 : bank_pad(S))];

    const int x = threadIdx.x, y = threadIdx.y;
    const int a_row = plan::A_ROW_MAJOR ? y : x, a_k = plan::A_ROW_MAJOR ? x : y;
    const int b_k = plan::B_ROW_MAJOR ? y : x, b_col = plan::B_ROW_MAJOR ? x : y;
    const int block_row = blockIdx.y * S, block_col = blockIdx.x * S;

    float acc = 0.0f;
#pragma unroll 1  // one k-step a round, as written
    for (int k0 = 0; k0 < K; k0 += S) {
        // Past the edge stand zeros, which add nothing.
        const bool a_inside = block_row + a_row < M && k0 + a_k < K;
        const bool b_inside = k0 + b_k < K && block_col + b_col < N;
        a_tile[a_row][a_k] = a_inside ? A[a_index(block_row + a_row, k0 + a_k, lda)] : 0.0f;
        b_tile[b_k][b_col] = b_inside ? B[b_index(k0 + b_k, block_col + b_col, ldb)] : 0.0f;
        __syncthreads();  // the tiles are whole

#pragma unroll
        for (int kk = 0; kk < S; ++kk) acc += a_tile[y][kk] * b_tile[kk][x];
        __syncthreads();  // nobody reads them any more
    }

    const int row = block_row + y, col = block_col + x;
    if (row < M && col < N) C[c_index(row, col, ldc)] = acc;
}
