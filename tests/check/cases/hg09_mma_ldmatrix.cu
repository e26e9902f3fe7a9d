// A tensor-core product by ldmatrix and mma.
// tilewise: --kernel mma1 --grid 1 --block 32
// tilewise: --arg A=f16[16,16]:normal --arg B=f16[16,8]:normal --arg D=f32[16,8]
// clean: no error, no warning apart from an allowed perf note
//
//
//
//
#include <cuda_fp16.h>
extern "C" __global__ void mma1(const __half* A, const __half* B, float* D) {
  __shared__ alignas(16) __half sa[16 * 24];
  __shared__ alignas(16) __half sb[16 * 8];
  int l = threadIdx.x;
  *(uint4*)&sa[(l >> 1) * 24 + (l & 1) * 8] = ((const uint4*)A)[l];
  if (l < 16) ((uint4*)sb)[l] = ((const uint4*)B)[l];
  __syncwarp();
  unsigned a[4], b[2];
  unsigned pa = (unsigned)__cvta_generic_to_shared(&sa[(l & 15) * 24 + (l >> 4) * 8]);
  unsigned pb = (unsigned)__cvta_generic_to_shared(&sb[(l & 15) * 8]);
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3]) : "r"(pa) : "memory");
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];" : "=r"(b[0]), "=r"(b[1]) : "r"(pb) : "memory");
  float d[4] = {0, 0, 0, 0};
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  int g = l >> 2, t = (l & 3) * 2;
  *(float2*)&D[g * 8 + t] = make_float2(d[0], d[1]);
  *(float2*)&D[(g + 8) * 8 + t] = make_float2(d[2], d[3]);
}
