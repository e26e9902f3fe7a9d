// Adds the parts of tiles that shares of k left (tiled.cu), in the order of k. A block has 1024 words of one tile, a thread four.
#include "place.cuh"

using namespace plan;

constexpr int THREADS = 256, PIECES = BM * BN / (4 * THREADS);  // blocks a tile
static_assert(BM * BN % (4 * THREADS) == 0 && BN % 4 == 0, "blocks of 1024 words cover a tile, and threads their rows");

extern "C" __global__ void __launch_bounds__(THREADS)
    sum_parts(const float* __restrict__ parts, float* __restrict__ C, int M, int N, int K, int ldc, int whole, int share) {
    const int shared_tile = blockIdx.x / PIECES, word = (blockIdx.x % PIECES * THREADS + threadIdx.x) * 4;
    const int steps = (K + BK - 1) / BK, first = shared_tile * steps;    // the tile's first k-step, among those that are shared
    const int begin = first / share, end = (first + steps - 1) / share;  // its first and last share
    if (begin == end) return;                                            // which stored the tile itself

    const Place place = place_of(whole + shared_tile, M, N);
    const int row = place.row + word / BN, col = place.col + word % BN;
    if (row >= M || col >= N) return;
    const auto part = [&](int s) {  // a share's second place is for a tile that begins with it
        return *reinterpret_cast<const float4*>(parts + size_t(2 * s + (s * share <= first)) * (BM * BN) + word);
    };
    float4 sum = part(begin);
#pragma unroll 4
    for (int s = begin + 1; s <= end; ++s) {
        const float4 next = part(s);
        sum.x += next.x, sum.y += next.y, sum.z += next.z, sum.w += next.w;
    }
    float* const to = C + size_t(row) * ldc + col;
    if (col + 3 < N && reinterpret_cast<size_t>(C) % 16 == 0 && ldc % 4 == 0) {
        *reinterpret_cast<float4*>(to) = sum;
    } else {
#pragma unroll
        for (int q = 0; q < 4; ++q)
            if (col + q < N) to[q] = (&sum.x)[q];
    }
}
