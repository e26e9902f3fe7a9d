// Accumulators read before the wait for them.
// tilewise: --kernel wg --grid 1 --block 128
// tilewise: --arg A=f16[64,16]:normal --arg B=f16[8,16]:normal --arg D=f32[64,8]
// error async.wgmma: accumulator registers written by line 33 are read on line 36 before wgmma.wait_group
//
//
//
//
#include <cuda_fp16.h>
__device__ __forceinline__ unsigned long long desc(const void* p, unsigned lbo, unsigned sbo) {
  unsigned a = (unsigned)__cvta_generic_to_shared(p);
  return (unsigned long long)((a & 0x3FFFF) >> 4) | ((unsigned long long)(lbo >> 4) << 16) | ((unsigned long long)(sbo >> 4) << 32);
}
__device__ __forceinline__ void wg_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void wg_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void wg_wait0() { asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory"); }
__device__ __forceinline__ void wg_mma(float (&d)[4], unsigned long long a, unsigned long long b) {
  asm volatile("{ .reg .pred p; setp.ne.b32 p, 1, 0; wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0,%1,%2,%3}, %4, %5, p, 1, 1, 0, 0; }"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(a), "l"(b));
}
// 8x8 core matrices of f16, no swizzle: element (r,k) of a R x 16 K-major operand
__device__ __forceinline__ int core(int r, int k) { return (r >> 3) * 128 + (k >> 3) * 64 + (r & 7) * 8 + (k & 7); }
extern "C" __global__ void wg(const __half* A, const __half* B, float* D) {
  __shared__ alignas(128) __half sa[64 * 16];
  __shared__ alignas(128) __half sb[8 * 16];
  int t = threadIdx.x;
  for (int i = t; i < 64 * 16; i += 128) sa[core(i / 16, i % 16)] = A[i];
  sb[core(t / 16, t % 16)] = B[t];
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  float d[4] = {0.f, 0.f, 0.f, 0.f};
  wg_fence();
  wg_mma(d, desc(sa, 128, 256), desc(sb, 128, 256));
  wg_commit();
  int w = t >> 5, g = (t & 31) >> 2, c = (t & 3) * 2, r = w * 16 + g;
  D[r * 8 + c] = d[0];
  D[r * 8 + c + 1] = d[1];
  D[(r + 8) * 8 + c] = d[2];
  D[(r + 8) * 8 + c + 1] = d[3];
  wg_wait0();
}
