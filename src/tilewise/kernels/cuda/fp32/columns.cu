// A product with few rows, where k does not run along memory in the long operand: Y = X W with W of K x `lines`, X of `rows` x K,
// rows <= S.
//
// It takes as long as reading W does. A warp reads 128 words of a row of W at a time, four a lane, each of which serves S
// multiply-adds; the block's warps share out k, and X comes through shared memory. Sums meet in the order of k, as do those of
// blocks along y, each with `chunk` of k, in sum_splits: the same bits every time.
#include "plan.cuh"

using namespace plan;

constexpr int WARPS = 8, WIDTH = 128;  // lines a block
constexpr int DEPTH = 64;              // k of X in shared memory at a time
constexpr int STEPS = DEPTH / WARPS;   // of a warp

extern "C" __global__ void __launch_bounds__(32 * WARPS)
    gemm(const float* __restrict__ W, const float* __restrict__ X, float* __restrict__ Y, int lines, int rows, int K, int ldw, int x_row,
         int x_k, long long y_line, long long y_row, int chunk) {
    __shared__ float x_tile[DEPTH][S];
    __shared__ __align__(16) float partial[WARPS][WIDTH];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, first_line = blockIdx.x * WIDTH;
    const int begin = blockIdx.y * chunk, end = min(K, begin + chunk);

    // A lane's words lie side by side where vectors can be read, else 32 apart; past the edge they are the last once more.
    int at[4];
#pragma unroll
    for (int q = 0; q < 4; ++q) at[q] = min(first_line + (VECTORS ? 4 * lane + q : lane + 32 * q), lines - (VECTORS ? 4 - q : 1));

    float sums[S][4] = {};
    for (int k0 = begin; k0 < end; k0 += DEPTH) {
        __syncthreads();
        for (int i = threadIdx.x; i < DEPTH * S; i += 32 * WARPS) {
            const int kk = i % DEPTH, s = i / DEPTH;
            x_tile[kk][s] = k0 + kk < end && s < rows ? X[size_t(s) * x_row + size_t(k0 + kk) * x_k] : 0.0f;
        }
        __syncthreads();
        float of_w[STEPS][4];
#pragma unroll
        for (int step = 0; step < STEPS; ++step) {
            const float* const row = W + size_t(min(k0 + step * WARPS + warp, end - 1)) * ldw;  // times zeros past the end
            const bool inside = k0 + step * WARPS + warp < end;
            if (VECTORS) {
                const float4 four = *reinterpret_cast<const float4*>(row + at[0]);
                of_w[step][0] = four.x, of_w[step][1] = four.y, of_w[step][2] = four.z, of_w[step][3] = four.w;
            } else {
#pragma unroll
                for (int q = 0; q < 4; ++q) of_w[step][q] = row[at[q]];
            }
#pragma unroll
            for (int q = 0; q < 4; ++q) of_w[step][q] = inside ? of_w[step][q] : 0.0f;
        }
#pragma unroll
        for (int step = 0; step < STEPS; ++step)
#pragma unroll
            for (int s = 0; s < S; ++s)
#pragma unroll
                for (int q = 0; q < 4; ++q) sums[s][q] = fmaf(x_tile[step * WARPS + warp][s], of_w[step][q], sums[s][q]);
    }

#pragma unroll
    for (int s = 0; s < S; ++s) {
        __syncthreads();
#pragma unroll
        for (int q = 0; q < 4; ++q) partial[warp][VECTORS ? 4 * lane + q : lane + 32 * q] = sums[s][q];
        __syncthreads();
        const int line = first_line + threadIdx.x;
        if (threadIdx.x < WIDTH && s < rows && line < lines) {
            float sum = 0;
#pragma unroll
            for (int part = 0; part < WARPS; ++part) sum += partial[part][threadIdx.x];
            Y[blockIdx.y * (size_t(rows) * lines) + s * y_row + line * y_line] = sum;
        }
    }
}
