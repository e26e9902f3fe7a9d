// Which part of C a tile's number stands for: tiles run down columns of GROUP, so that blocks which run together share rows of A
// and columns of B in the L2.
#pragma once

#include "plan.cuh"

constexpr int GROUP = 8;  // tiles down: 1024 rows of A at BM = 128

struct Place {
    int row, col;
};

__device__ __forceinline__ Place place_of(int tile, int M, int N) {
    const int down = (M + plan::BM - 1) / plan::BM, across = (N + plan::BN - 1) / plan::BN;
    const int group = tile / (GROUP * across), in_group = tile % (GROUP * across), rows = min(GROUP, down - group * GROUP);
    return {(group * GROUP + in_group % rows) * plan::BM, in_group / rows * plan::BN};
}
