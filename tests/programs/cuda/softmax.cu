// Softmax of rows, online: one pass keeps the greatest value so far and the sum scaled to it; lanes, then warps, merge their pairs.
#include <math_constants.h>

struct Partial {
    float greatest, sum;
};

__device__ Partial merge(Partial a, Partial b) {
    const float greatest = fmaxf(a.greatest, b.greatest);
    if (greatest == -CUDART_INF_F) return {greatest, 0.0f};
    return {greatest, a.sum * expf(a.greatest - greatest) + b.sum * expf(b.greatest - greatest)};
}

__device__ Partial merge_lanes(Partial own) {
    for (int step = 16; step; step /= 2)
        own = merge(own, {__shfl_xor_sync(0xffffffffu, own.greatest, step), __shfl_xor_sync(0xffffffffu, own.sum, step)});
    return own;
}

// One block a row; whole warps.
extern "C" __global__ void softmax(const float* in, float* out, int columns) {
    __shared__ Partial of_warp[32];
    const float* row = in + (size_t)blockIdx.x * columns;
    Partial own = {-CUDART_INF_F, 0.0f};
    for (int column = threadIdx.x; column < columns; column += blockDim.x) own = merge(own, {row[column], 1.0f});
    own = merge_lanes(own);
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    if (lane == 0) of_warp[warp] = own;
    __syncthreads();
    own = merge_lanes(lane < blockDim.x / 32 ? of_warp[lane] : Partial{-CUDART_INF_F, 0.0f});
    for (int column = threadIdx.x; column < columns; column += blockDim.x)
        out[(size_t)blockIdx.x * columns + column] = expf(row[column] - own.greatest) / own.sum;
}
