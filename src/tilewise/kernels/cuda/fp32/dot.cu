// A product with few rows, where k runs along memory in the long operand: Y = X W^T with W of `lines` x K, X of `rows` x K, rows <= S.
//
// It takes as long as reading W does. A warp computes S x R outputs: its lanes lie along k, and a word of W in a register serves S
// multiply-adds. LINE_WARPS of the block's warps lie along lines and share what they read of X in the L1; the others share out k.
// Their sums meet in the order of k, as do those of blocks along y, each with `chunk` of k, in sum_splits: the same bits every time.
#include "plan.cuh"

using namespace plan;

constexpr int WARPS = 8, K_WARPS = WARPS / LINE_WARPS, OUTPUTS = S * R;
constexpr int SPREAD = OUTPUTS < 32 ? 32 / OUTPUTS : 1;  // lanes that end up with one output
constexpr int HELD = OUTPUTS < 32 ? 1 : OUTPUTS / 32;    // outputs that a lane ends up with
static_assert(WARPS % LINE_WARPS == 0 && (OUTPUTS & (OUTPUTS - 1)) == 0, "powers of 2");

// Adds each output over a warp's lanes: at every step a lane gives away half of what it holds for the other half of its partner's.
// Returns the number of the first output that it holds then.
__device__ __forceinline__ int add_lanes(float (&sums)[OUTPUTS]) {
    const int lane = threadIdx.x % 32;
    int first = 0, held = OUTPUTS;
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) {
        const bool upper = lane & distance;
        if (held > 1) {
            held /= 2;
            first += upper ? held : 0;
#pragma unroll
            for (int i = 0; i < OUTPUTS / 2; ++i)
                if (i < held) {
                    const float given = upper ? sums[i] : sums[i + held], kept = upper ? sums[i + held] : sums[i];
                    sums[i] = kept + __shfl_xor_sync(~0u, given, distance);
                }
        } else {
            sums[0] += __shfl_xor_sync(~0u, sums[0], distance);
        }
    }
    return first;
}

extern "C" __global__ void __launch_bounds__(32 * WARPS)
    gemm(const float* __restrict__ W, const float* __restrict__ X, float* __restrict__ Y, int lines, int rows, int K, int ldw, int x_row,
         int x_k, long long y_line, long long y_row, int chunk) {
    __shared__ float partial[K_WARPS][LINE_WARPS][OUTPUTS];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, line_warp = warp % LINE_WARPS, k_warp = warp / LINE_WARPS;
    const int first_line = (blockIdx.x * LINE_WARPS + line_warp) * R, begin = blockIdx.y * chunk, end = min(K, begin + chunk);

    const float *w[R], *x[S];  // lines and rows past the edge are the last once more
#pragma unroll
    for (int r = 0; r < R; ++r) w[r] = W + size_t(min(first_line + r, lines - 1)) * ldw;
#pragma unroll
    for (int s = 0; s < S; ++s) x[s] = X + size_t(min(s, rows - 1)) * x_row;

    float sums[OUTPUTS] = {};
    int k = begin;
    if (VECTORS) {  // K may not be a multiple of 4
        const int vectors_end = begin + (end - begin) / 4 * 4;
#pragma unroll UNROLL
        for (k += 4 * (32 * k_warp + lane); k < vectors_end; k += 128 * K_WARPS) {
            float4 of_w[R];
#pragma unroll
            for (int r = 0; r < R; ++r) of_w[r] = *reinterpret_cast<const float4*>(w[r] + k);
#pragma unroll
            for (int s = 0; s < S; ++s) {
                const float4 of_x = *reinterpret_cast<const float4*>(x[s] + k);
#pragma unroll
                for (int r = 0; r < R; ++r) {
                    float& sum = sums[s * R + r];
                    sum = fmaf(of_x.x, of_w[r].x, sum), sum = fmaf(of_x.y, of_w[r].y, sum);
                    sum = fmaf(of_x.z, of_w[r].z, sum), sum = fmaf(of_x.w, of_w[r].w, sum);
                }
            }
        }
        k = vectors_end;
    }
    for (k += 32 * k_warp + lane; k < end; k += 32 * K_WARPS) {
        float of_w[R];
#pragma unroll
        for (int r = 0; r < R; ++r) of_w[r] = w[r][k];
#pragma unroll
        for (int s = 0; s < S; ++s) {
            const float of_x = x[s][size_t(k) * x_k];
#pragma unroll
            for (int r = 0; r < R; ++r) sums[s * R + r] = fmaf(of_x, of_w[r], sums[s * R + r]);
        }
    }

    const int first = add_lanes(sums);
    if (lane % SPREAD == 0) {
#pragma unroll
        for (int i = 0; i < HELD; ++i) partial[k_warp][line_warp][first + i] = sums[i];
    }
    __syncthreads();
    for (int i = threadIdx.x; i < LINE_WARPS * OUTPUTS; i += 32 * WARPS) {
        const int s = i % OUTPUTS / R, line = (blockIdx.x * LINE_WARPS + i / OUTPUTS) * R + i % R;
        float sum = 0;
#pragma unroll
        for (int part = 0; part < K_WARPS; ++part) sum += partial[part][i / OUTPUTS][i % OUTPUTS];
        if (s < rows && line < lines) Y[blockIdx.y * (size_t(rows) * lines) + s * y_row + line * y_line] = sum;
    }
}
