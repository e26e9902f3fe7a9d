// One round of k-means in the plane: each point goes to the nearest centre; sums and sizes are gathered with atomics on doubles and
// integers, in shared memory first.
#include <math_constants.h>

constexpr int MOST = 16;

extern "C" __global__ void assign(const float2* points, const float2* centres, int* labels, double* sums, unsigned* sizes, int n, int k) {
    __shared__ double own_sums[2 * MOST];
    __shared__ unsigned own_sizes[MOST];
    for (int i = threadIdx.x; i < 2 * k; i += blockDim.x) {
        own_sums[i] = 0;
        own_sizes[i / 2] = 0;
    }
    __syncthreads();
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        const float2 point = points[i];
        int nearest = 0;
        float least = CUDART_INF_F;
        for (int centre = 0; centre < k; ++centre) {
            const float dx = point.x - centres[centre].x, dy = point.y - centres[centre].y, distance = dx * dx + dy * dy;
            if (distance < least) {
                least = distance;
                nearest = centre;
            }
        }
        labels[i] = nearest;
        atomicAdd(&own_sums[2 * nearest], (double)point.x);
        atomicAdd(&own_sums[2 * nearest + 1], (double)point.y);
        atomicAdd(&own_sizes[nearest], 1);
    }
    __syncthreads();
    for (int j = threadIdx.x; j < 2 * k; j += blockDim.x) {
        atomicAdd(&sums[j], own_sums[j]);
        if (j % 2 == 0) atomicAdd(&sizes[j / 2], own_sizes[j / 2]);
    }
}
