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
    static constexpr int COUNT = K_RUNS ? LINES / ACROSS : LINES / WIDTH / ALONG;  // pointers, to different lines
    static constexpr int RUNS = K_RUNS ? plan::BK / RUN : plan::BK / ACROSS;       // copies a pointer, RUN_STEP of k apart
    static constexpr int LINE_STEP = K_RUNS ? ACROSS : ALONG * WIDTH, RUN_STEP = K_RUNS ? RUN : ACROSS;
    static_assert(plan::BK % RUN == 0, "8 divides BK");
    static_assert(K_RUNS || LINES / WIDTH % ALONG == 0, "the threads of a block divide a row of the tile, or it them");
    static_assert((K_RUNS ? LINES : plan::BK) % ACROSS == 0, "all threads copy as much of a tile");

    const float* from[COUNT];
    int line, k;      // of the first copy
    size_t run_step;  // bytes from one copy of a pointer to the next

    // `lines` are left of the operand, at least WIDTH; the first tile begins at `k0`.
    __device__ __forceinline__ Copies(const float* operand, int leading, int first_line, int lines, int k0)
        : line(K_RUNS ? threadIdx.x / RUN : threadIdx.x % ALONG * WIDTH),
          k(K_RUNS ? threadIdx.x % RUN : threadIdx.x / ALONG),
          run_step(4 * size_t(K_RUNS ? 1 : leading) * RUN_STEP) {
#pragma unroll
        for (int i = 0; i < COUNT; ++i) {
            const size_t at_line = first_line + min(line + i * LINE_STEP, lines - WIDTH), at_k = k0 + k;
            from[i] = operand + (K_RUNS ? at_line * leading + at_k : at_k * leading + at_line);
        }
    }

    // Starts copying the first tile, of which `depth` is there; the rest becomes zeros.
    __device__ __forceinline__ void start_ragged(float* tile, int depth) const {
#pragma unroll
        for (int i = 0; i < COUNT; ++i)
#pragma unroll
            for (int run = 0; run < RUNS; ++run) {
                const int row = k + run * RUN_STEP, bytes = row < depth ? 4 * WIDTH : 0;
                float* const to = tile + row * ROW + line + i * LINE_STEP;
                const char* const word = reinterpret_cast<const char*>(from[i]) + run * run_step;
                if constexpr (WIDTH == 4)
                    cp_async_cg_16(to, word, bytes);
                else
                    cp_async_ca_4(to, word, bytes);
            }
    }

    // Starts one of `parts` of the copies of a whole tile that lies `advance` bytes behind the first; `to` is the shared address of
    // this thread's first word.
    __device__ __forceinline__ void start(unsigned to, size_t advance, int part, int parts) const {
#pragma unroll
        for (int i = 0; i < COUNT; ++i)
#pragma unroll
            for (int run = 0; run < RUNS; ++run) {
                if ((i * RUNS + run) * parts / (COUNT * RUNS) != part) continue;
                const unsigned at = to + 4 * (run * RUN_STEP * ROW + i * LINE_STEP);
                const size_t behind = K_RUNS ? 4 * run * RUN_STEP : run * run_step;
                const char* const word = reinterpret_cast<const char*>(from[i]) + advance + behind;
                if constexpr (WIDTH == 4)
                    cp_async_cg_16(at, word);
                else
                    cp_async_ca_4(at, word);
            }
    }
};
