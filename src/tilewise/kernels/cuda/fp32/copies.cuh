// A thread's part in copying an operand's tiles to shared memory, tile[k][line], by cp.async: lines are rows of A or columns of B.
//
// Where k runs along memory (K_RUNS), word by word, so that the copy itself transposes; else WIDTH words at a time. Lines past the
// operand's edge are its last ones once more: what they give is never stored.
#pragma once

#include "plan.cuh"
#include "ptx.cuh"

constexpr int RUN = 8;  // words along k that neighbouring lanes copy of one line: a sector
constexpr int PAD = 4;  // words a row of a transposed tile: 8 k of 4 lines then fall into 32 banks, and rows stay 16-byte aligned

template <int LINES, int ROW, bool K_RUNS, int WIDTH, int THREADS>
struct Copies {
    // Threads lie along memory first, ALONG of them, then ACROSS it.
    static constexpr int ALONG = K_RUNS ? RUN : LINES / WIDTH < THREADS ? LINES / WIDTH : THREADS, ACROSS = THREADS / ALONG;
    static constexpr int SPANS = K_RUNS ? 1 : LINES / WIDTH / ALONG;                     // of ALONG copies, side by side in a row
    static constexpr int COUNT = K_RUNS ? LINES / ACROSS : SPANS * (plan::BK / ACROSS);  // pointers
    static constexpr int RUNS = K_RUNS ? plan::BK / RUN : 1;                             // copies a pointer
    static_assert(plan::BK % RUN == 0, "8 divides BK");
    static_assert(K_RUNS || LINES / WIDTH % ALONG == 0, "the threads of a block divide a row of the tile, or it them");
    static_assert((K_RUNS ? LINES : plan::BK) % ACROSS == 0, "all threads copy as much of a tile");

    const float* from[COUNT];
    int line, k;  // of the first copy

    static __device__ __forceinline__ constexpr int line_step(int i) { return K_RUNS ? i * ACROSS : i % SPANS * ALONG * WIDTH; }
    static __device__ __forceinline__ constexpr int depth_step(int i) { return K_RUNS ? 0 : i / SPANS * ACROSS; }

    // `lines` are left of the operand, at least WIDTH; the first tile begins at `k0`.
    __device__ __forceinline__ Copies(const float* operand, int leading, int first_line, int lines, int k0)
        : line(K_RUNS ? threadIdx.x / RUN : threadIdx.x % ALONG * WIDTH), k(K_RUNS ? threadIdx.x % RUN : threadIdx.x / ALONG) {
#pragma unroll
        for (int i = 0; i < COUNT; ++i) {
            const size_t at_line = first_line + min(line + line_step(i), lines - WIDTH), at_k = k0 + k + depth_step(i);
            from[i] = operand + (K_RUNS ? at_line * leading + at_k : at_k * leading + at_line);
        }
    }

    // Starts copying the first tile, of which `depth` is there; the rest becomes zeros.
    __device__ __forceinline__ void start_ragged(float* tile, int depth) const {
#pragma unroll
        for (int i = 0; i < COUNT; ++i)
#pragma unroll
            for (int run = 0; run < RUNS; ++run) {
                const int row = k + depth_step(i) + run * RUN, bytes = row < depth ? 4 * WIDTH : 0;
                float* const to = tile + row * ROW + line + line_step(i);
                if constexpr (WIDTH == 4)
                    cp_async_cg_16(to, from[i] + run * RUN, bytes);
                else
                    cp_async_ca_4(to, from[i] + run * RUN, bytes);
            }
    }

    // Starts copying a whole tile that lies `advance` bytes behind the first; `to` is the shared address of this thread's first word.
    __device__ __forceinline__ void start(unsigned to, size_t advance) const {
#pragma unroll
        for (int i = 0; i < COUNT; ++i)
#pragma unroll
            for (int run = 0; run < RUNS; ++run) {
                const unsigned at = to + 4 * ((depth_step(i) + run * RUN) * ROW + line_step(i));
                const char* const word = reinterpret_cast<const char*>(from[i]) + advance + 4 * run * RUN;
                if constexpr (WIDTH == 4)
                    cp_async_cg_16(at, word);
                else
                    cp_async_ca_4(at, word);
            }
    }
};
