// r02  coalesced: one thread, one output; neighbouring threads walk along a row of C.
//
//               B          lanes 0..31 of a warp take 32 columns of C,
//            +|||||+       so a load of B is 128 consecutive bytes: 4 sectors,
//            +|||||+       and a load of A is one word for the whole warp:
//      A     +|||||+       1 sector.
//   +-----+  +-----+
//   |=====|->|01234|  C
//   +-----+  +-----+
//
// Removes: uncoalesced loads (33 sectors for two requests become 5).
// Left:    traffic: every operand is still read once a multiply.
#include "operand.cuh"

extern "C" __global__ void __launch_bounds__(plan::BM* plan::BN)
    gemm(const float* __restrict__ A, const float* __restrict__ B, float* __restrict__ C, int M, int N, int K, int lda, int ldb, int ldc) {
    static_assert(plan::TM == 1 && plan::TN == 1, "r02 gives each thread one output: TM = TN = 1");

    const int row = blockIdx.y * plan::BM + threadIdx.y;
    const int col = blockIdx.x * plan::BN + threadIdx.x;
    if (row >= M || col >= N) return;

    float acc = 0.0f;
    for (int k = 0; k < K; ++k) acc += A[a_index(row, k, lda)] * B[b_index(k, col, ldb)];
    C[c_index(row, col, ldc)] = acc;
}
