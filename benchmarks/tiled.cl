// The rung r03 in OpenCL C, for the row-major layout: a work-group stages S x S tiles of A and B in local memory.
#define S 32

__attribute__((reqd_work_group_size(S, S, 1))) __kernel void gemm(__global const float* restrict A, __global const float* restrict B,
                                                                  __global float* restrict C, int M, int N, int K) {
    __local float a_tile[S][S];
    __local float b_tile[S][S];
    const int x = get_local_id(0), y = get_local_id(1);
    const int row = get_group_id(1) * S + y, col = get_group_id(0) * S + x;

    float acc = 0.0f;
    for (int k0 = 0; k0 < K; k0 += S) {
        a_tile[y][x] = row < M && k0 + x < K ? A[row * K + k0 + x] : 0.0f;
        b_tile[y][x] = k0 + y < K && col < N ? B[(k0 + y) * N + col] : 0.0f;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int kk = 0; kk < S; ++kk) acc += a_tile[y][kk] * b_tile[kk][x];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (row < M && col < N) C[row * N + col] = acc;
}
