// A tile's way from an operand in global memory to shared memory without registers, so that its threads need not wait for it.
#pragma once

#include "plan.cuh"
#include "ptx.cuh"

// Whether rows of an operand, or columns where those run along memory, begin at multiples of 16 bytes, as a copy of 16 must.
__device__ __forceinline__ bool is_aligned(const float* operand, int leading) {
    return reinterpret_cast<size_t>(operand) % 16 == 0 && leading % 4 == 0;
}

// Starts copying one tile, tile[k][line], of WIDTH lines with THREADS threads; `k_runs` where k, not the line, runs along memory.
// `lines` and `depth` of them are left before the operand's edge; what lies past it asks for no bytes and is filled with zeros.
template <int STRIDE>
__device__ __forceinline__ void copy_tile_async(float (&tile)[plan::BK][STRIDE], int WIDTH, int THREADS, bool k_runs, const float* from,
                                                int leading, bool aligned, int lines, int depth) {
    constexpr int BK = plan::BK;
    if (aligned && !k_runs) {
#pragma unroll
        for (int first = 0; first < BK * WIDTH; first += 4 * THREADS) {
            const unsigned i = first + 4 * threadIdx.x;
            if (BK * WIDTH % (4 * THREADS) && i >= BK * WIDTH) break;
            const int k = i / WIDTH, line = i % WIDTH;
            const int inside = k < depth ? max(0, min(4, lines - line)) : 0;
            cp_async_cg_16(&tile[k][line], &from[size_t(k) * leading + line], 4 * inside);
        }
        return;
    }
    // Word by word, since no copy of 16 bytes can lay them down a column.
    const int RUN = k_runs ? BK : WIDTH;
#pragma unroll
    for (int first = 0; first < BK * WIDTH; first += THREADS) {
        const unsigned i = first + threadIdx.x;
        if (BK * WIDTH % THREADS && i >= BK * WIDTH) break;
        const int k = k_runs ? i % RUN : i / RUN, line = k_runs ? i / RUN : i % RUN;
        cp_async_ca_4(&tile[k][line], &from[size_t(i / RUN) * leading + i % RUN], k < depth && line < lines ? 4 : 0);
    }
}
