// Where an element of A, B or C stands in global memory, for either order of its rows and columns.
#pragma once

#include "plan.cuh"

__device__ __forceinline__ size_t a_index(int row, int k, int lda) {
    return plan::A_ROW_MAJOR ? size_t(row) * lda + k : size_t(k) * lda + row;
}

__device__ __forceinline__ size_t b_index(int k, int col, int ldb) {
    return plan::B_ROW_MAJOR ? size_t(k) * ldb + col : size_t(col) * ldb + k;
}

__device__ __forceinline__ size_t c_index(int row, int col, int ldc) { return size_t(row) * ldc + col; }
