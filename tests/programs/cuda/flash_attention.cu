// Attention in one pass over the keys (Dao and others, 2022), plain fp32: a thread holds one query and its output in registers, a block
// stages KEYS keys and values in shared memory. Scores live in a register each: none is ever stored, so global traffic is
//     loads  N D  +  2 D (keys that each block of QUERIES queries sees)      stores  N D      words a head.
#include <math_constants.h>

constexpr int QUERIES = 64;  // threads a block
constexpr int KEYS = 16;
constexpr int D = 32;

// Q, K, V and O are heads * n * D. With `causal`, query i sees keys 0..i, and a block stops behind its last query's.
extern "C" __global__ void __launch_bounds__(QUERIES)
    attention(const float* Q, const float* K, const float* V, float* O, int n, float scale, int causal) {
    __shared__ float keys[KEYS][D], values[KEYS][D];
    const size_t head = (size_t)blockIdx.y * n * D;
    const int first = blockIdx.x * QUERIES, query = first + threadIdx.x;
    const int seen = causal ? min(n, first + QUERIES) : n;

    float q[D], out[D] = {};
#pragma unroll
    for (int d = 0; d < D; ++d) q[d] = query < n ? Q[head + (size_t)query * D + d] * scale : 0.0f;

    float greatest = -CUDART_INF_F, sum = 0;
    for (int start = 0; start < seen; start += KEYS) {
        for (int i = threadIdx.x; i < KEYS * D; i += QUERIES) {
            const bool inside = start + i / D < seen;
            keys[i / D][i % D] = inside ? K[head + (size_t)start * D + i] : 0.0f;
            values[i / D][i % D] = inside ? V[head + (size_t)start * D + i] : 0.0f;
        }
        __syncthreads();
        const int last = min(KEYS, (causal ? min(seen, query + 1) : seen) - start);
        for (int key = 0; key < last; ++key) {
            float score = 0;
#pragma unroll
            for (int d = 0; d < D; ++d) score += q[d] * keys[key][d];
            const float now = fmaxf(greatest, score), keep = expf(greatest - now), weight = expf(score - now);
            greatest = now;
            sum = sum * keep + weight;
#pragma unroll
            for (int d = 0; d < D; ++d) out[d] = out[d] * keep + weight * values[key][d];
        }
        __syncthreads();
    }
    if (query >= n) return;
#pragma unroll
    for (int d = 0; d < D; ++d) O[head + (size_t)query * D + d] = out[d] / sum;
}
