// C = A B in fp32, limited by the multiply-adds alone: any sizes, layouts, leading dimensions and alignments of 4 bytes.
//
// As r07, with 16 x 8 outputs a thread, fragments loaded one kk ahead, a ring of STAGES, and a loop that knows no edges: lines past
// an edge are copied from the last line and never stored, and the ragged k-step, filled up with zeros, comes first. A k-step's
// multiply-adds are written in an order of which the compiler makes the fewest stalls, and copies of single words stand between
// them in COPY_PARTS places.
//
// The first `whole` blocks compute a tile each. What tiles are left, too few to fill the GPU once more, are cut along k into
// shares of `share` k-steps, one a block; a share may end within a tile. Parts of tiles go to `parts`, two places a block,
// and sum_parts adds them in the order of k: the same bits from run to run.
#include "copies.cuh"
#include "place.cuh"

using namespace plan;

constexpr int DOWN = 4, ACROSS = 8;              // threads down and across a warp's tile
constexpr int WM = DOWN * TM, WN = ACROSS * TN;  // warp tile
constexpr int THREADS = 32 * (BM / WM) * (BN / WN);
constexpr int A_ROW = BM + (A_ROW_MAJOR ? PAD : 0), B_ROW = BN + (B_ROW_MAJOR ? 0 : PAD);
constexpr int A_TILE = BK * A_ROW, STAGE = A_TILE + BK * B_ROW;  // words
constexpr unsigned LAST = 4 * (STAGES - 1) * STAGE;              // bytes from the first stage to the last
constexpr int PARTS = A_ROW_MAJOR || !B_ROW_MAJOR ? COPY_PARTS : 1;

static_assert(BM % WM == 0 && BN % WN == 0, "warp tiles cover the block tile: 4 TM divides BM, 8 TN divides BN");
static_assert(TM % 4 == 0 && TN % 4 == 0, "four words are read at a time: 4 divides TM and TN");
static_assert(STAGES >= 2, "one stage is read while the next is on its way");
static_assert(BK % PARTS == 0, "a k-step's copies are started at equal distances: COPY_PARTS divides BK");

// Step `step` of `count` on lap number `lap`: there and back in turns.
__device__ constexpr int there_and_back(int lap, int count, int step) { return lap % 2 ? count - 1 - step : step; }

struct Accumulators {
    float of[TM][TN];

    // By squares of 8, one way and back; in a square by rows, across and back: neighbours share an operand, which then need not be
    // read again. Orders as good on paper differ by a fifth (docs/fp32.md): the compiler makes more of this one.
    __device__ __forceinline__ void add(const float (&a_frag)[TM], const float (&b_frag)[TN]) {
        constexpr int ROWS = TM < 8 ? TM : 8, COLUMNS = TN < 8 ? TN : 8, SQUARES_DOWN = TM / ROWS;
#pragma unroll
        for (int square = 0; square < SQUARES_DOWN * (TN / COLUMNS); ++square)
#pragma unroll
            for (int row = 0; row < ROWS; ++row)
#pragma unroll
                for (int column = 0; column < COLUMNS; ++column) {
                    const int i = there_and_back(square / SQUARES_DOWN, SQUARES_DOWN, square % SQUARES_DOWN) * ROWS +
                                  there_and_back(square, ROWS, row);
                    const int j = square / SQUARES_DOWN * COLUMNS + there_and_back(row, COLUMNS, column);
                    of[i][j] = fmaf(a_frag[i], b_frag[j], of[i][j]);
                }
    }

    // Stores a thread's outputs, `rows` and `columns` of which are there; `vectors` where four may go at a time.
    __device__ __forceinline__ void store(float* out, size_t leading, bool vectors, int rows, int columns) const {
#pragma unroll
        for (int i = 0; i < TM; ++i)
#pragma unroll
            for (int j = 0; j < TN; j += 4) {
                const int row = i / 4 * 4 * DOWN + i % 4, col = j * ACROSS;
                float* const to = out + row * leading + col;
                if (vectors) {
                    *reinterpret_cast<float4*>(to) = make_float4(of[i][j], of[i][j + 1], of[i][j + 2], of[i][j + 3]);
                } else {
#pragma unroll
                    for (int q = 0; q < 4; ++q)
                        if (row < rows && col + q < columns) to[q] = of[i][j + q];
                }
            }
    }
};

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS_PER_SM)
    gemm(const float* __restrict__ A, const float* __restrict__ B, float* __restrict__ C, int M, int N, int K, int lda, int ldb, int ldc,
         float* __restrict__ parts, int whole, int share) {
    extern __shared__ __align__(16) float shared[];
    const int steps = (K + BK - 1) / BK, ragged = K - (steps - 1) * BK;
    const size_t a_word = 4 * size_t(A_ROW_MAJOR ? 1 : lda), b_word = 4 * size_t(B_ROW_MAJOR ? ldb : 1);  // bytes from k to k + 1

    // Lanes agree in pairs on what they read of either tile: two wavefronts a float4 instead of four.
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int lane_row = lane / 16 * 2 + lane % 2, lane_col = lane / 2 % 8;
    const int thread_row = warp / (BN / WN) * WM + lane_row * 4, thread_col = warp % (BN / WN) * WN + lane_col * 4;
    const unsigned a_read = opaque(shared_address(shared + thread_row)), b_read = opaque(shared_address(shared + A_TILE + thread_col));

    const bool is_share = blockIdx.x >= whole;
    int done = is_share ? (blockIdx.x - whole) * share : 0;  // k-steps behind this one, counted from the first shared tile's first
    const int tiles = (M + BM - 1) / BM * ((N + BN - 1) / BN), end = is_share ? min(done + share, (tiles - whole) * steps) : steps;
    do {
        const int tile = is_share ? whole + done / steps : blockIdx.x, first = is_share ? done % steps : 0;
        const int count = min(steps - first, end - done), k0 = first == 0 ? 0 : ragged + (first - 1) * BK, depth = first == 0 ? ragged : BK;
        const Place place = place_of(tile, M, N);
        const Copies<BM, A_ROW, A_ROW_MAJOR, A_WIDTH, THREADS> a(A, lda, place.row, M - place.row, k0);
        const Copies<BN, B_ROW, !B_ROW_MAJOR, B_WIDTH, THREADS> b(B, ldb, place.col, N - place.col, k0);
        const unsigned a_write = opaque(shared_address(shared + a.k * A_ROW + a.line));
        const unsigned b_write = opaque(shared_address(shared + A_TILE + b.k * B_ROW + b.line));

        size_t a_advance = depth * a_word, b_advance = depth * b_word;
        const auto start = [&](unsigned write, int part, int parts) {  // one of `parts` of a tile's copies
            a.start(a_write + write, a_advance, part, parts), b.start(b_write + write, b_advance, part, parts);
            if (part == parts - 1) a_advance = opaque(a_advance + BK * a_word), b_advance = opaque(b_advance + BK * b_word);
        };
        a.start_ragged(shared, depth), b.start_ragged(shared + A_TILE, depth), cp_async_commit_group();
#pragma unroll
        for (int stage = 1; stage < STAGES - 1; ++stage) {
            if (stage < count) start(4 * stage * STAGE, 0, 1);
            cp_async_commit_group();
        }

        Accumulators acc = {};
        float a_frag[2][TM], b_frag[2][TN];
        unsigned read = 0, write = LAST;  // bytes from the ring's start
        const auto load = [&](int kk) {
#pragma unroll
            for (int i = 0; i < TM; i += 4) ld_shared_16(&a_frag[kk % 2][i], a_read + read + 4 * (kk * A_ROW + i * DOWN));
#pragma unroll
            for (int j = 0; j < TN; j += 4) ld_shared_16(&b_frag[kk % 2][j], b_read + read + 4 * (kk * B_ROW + j * ACROSS));
        };
        const auto await_stage = [&] {
            cp_async_wait_group<STAGES - 2>();  // this thread's copies are in
            __syncthreads();                    // so are everyone's, and nobody reads the stage before any more
        };
        const auto k_step = [&](bool copies, bool is_last) {
#pragma unroll
            for (int kk = 0; kk < BK; ++kk) {
                if (copies && kk % (BK / PARTS) == 0) start(write, kk / (BK / PARTS), PARTS);
                if (kk + 1 < BK) {
                    load(kk + 1);
                } else {
                    cp_async_commit_group();
                    write = write == LAST ? 0 : write + 4 * STAGE;
                    read = read == LAST ? 0 : read + 4 * STAGE;
                    if (!is_last) await_stage(), load(0);
                }
                acc.add(a_frag[kk % 2], b_frag[kk % 2]);
            }
        };
        await_stage(), load(0);
        int left = count;
#pragma unroll 1
        for (; left > STAGES - 1; --left) k_step(true, false);  // as written, without a test
#pragma unroll 1
        for (; left > 0; --left) k_step(false, left == 1);

        const bool is_part = count < steps, inside = place.row + BM <= M && place.col + BN <= N;
        const bool vectors = is_part || (inside && reinterpret_cast<size_t>(C) % 16 == 0 && ldc % 4 == 0);
        float* const part = parts + size_t(2 * (blockIdx.x - whole) + (first == 0)) * (BM * BN);
        float* const out = is_part ? part : C + size_t(place.row) * ldc + place.col;
        const size_t leading = is_part ? BN : ldc;
        acc.store(out + thread_row * leading + thread_col, leading, vectors, M - place.row - thread_row, N - place.col - thread_col);
        done += count;
        __syncthreads();  // the ring is free again
    } while (done < end);
}
