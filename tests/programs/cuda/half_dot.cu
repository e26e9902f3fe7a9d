// Dot products of rows in half precision and in bfloat16, two at a time, summed in fp32 by the warp.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

__device__ float sum_of_warp(float sum) {
    for (int step = 16; step; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
    return sum;
}

// A warp a row of `pairs` pairs.
extern "C" __global__ void dot_half(const __half2* a, const __half2* b, __half* out, int pairs) {
    float sum = 0;
    for (int i = threadIdx.x; i < pairs; i += 32) {
        const float2 both = __half22float2(__hmul2(a[blockIdx.x * pairs + i], b[blockIdx.x * pairs + i]));
        sum += both.x + both.y;
    }
    sum = sum_of_warp(sum);
    if (threadIdx.x == 0) out[blockIdx.x] = __float2half_rn(sum);
}

extern "C" __global__ void dot_bfloat16(const __nv_bfloat162* a, const __nv_bfloat162* b, __nv_bfloat16* out, int pairs) {
    float sum = 0;
    for (int i = threadIdx.x; i < pairs; i += 32) {
        const float2 x = __bfloat1622float2(a[blockIdx.x * pairs + i]), y = __bfloat1622float2(b[blockIdx.x * pairs + i]);
        sum = fmaf(x.x, y.x, fmaf(x.y, y.y, sum));
    }
    sum = sum_of_warp(sum);
    if (threadIdx.x == 0) out[blockIdx.x] = __float2bfloat16_rn(sum);
}
