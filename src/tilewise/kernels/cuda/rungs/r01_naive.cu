// r01  naive: one thread, one output; neighbouring threads walk down a column of C.
//
//                 B          lanes 0..31 of a warp take 32 rows of C,
//              +--|--+       so each load of A touches 32 rows: 32 sectors
//              |  |  |       for 32 useful words.
//        A     +--|--+
//     +-----+  +--|--+
//     |=====|->|  0  |
//     |=====|->|  1  |  C
//     +-----+  +-----+
//
// Removes: nothing, this is where the climb starts.
// Left:    uncoalesced loads; every operand is read from global memory once a multiply.
#include "operand.cuh"

extern "C" __global__ void __launch_bounds__(plan::BM* plan::BN)
    gemm(const float* __restrict__ A, const float* __restrict__ B, float* __restrict__ C, int M, int N, int K, int lda, int ldb, int ldc) {
    static_assert(plan::TM == 1 && plan::TN == 1, "r01 gives each thread one output: TM = TN = 1");

    const int row = blockIdx.y * plan::BM + threadIdx.x;
    const int col = blockIdx.x * plan::BN + threadIdx.y;
    if (row >= M || col >= N) return;

    float acc = 0.0f;
    for (int k = 0; k < K; ++k) acc += A[a_index(row, k, lda)] * B[b_index(k, col, ldb)];
    C[c_index(row, col, ldc)] = acc;
}
