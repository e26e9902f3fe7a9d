// A tensor-core product with two registers of a fragment exchanged.
// tilewise: --kernel mma1 --grid 1 --block 32
// tilewise: --arg A=f16[16,16]:normal --arg B=f16[16,8]:normal --arg D=f32[16,8]
// error wrong.result: A fragment registers 1 and 2 are exchanged on lines 13,14 (register 1 must hold row g+8, columns 2t; register
// 2 row g, columns 2t+8)
//
//
//
#include <cuda_fp16.h>
extern "C" __global__ void mma1(const __half* A, const __half* B, float* D) {
  int lane = threadIdx.x, g = lane >> 2, t = lane & 3;
  unsigned a0 = *(const unsigned*)(A + g * 16 + 2 * t);
  unsigned a1 = *(const unsigned*)(A + g * 16 + 2 * t + 8);
  unsigned a2 = *(const unsigned*)(A + (g + 8) * 16 + 2 * t);
  unsigned a3 = *(const unsigned*)(A + (g + 8) * 16 + 2 * t + 8);
  __half2 p0 = __halves2half2(B[(2 * t) * 8 + g], B[(2 * t + 1) * 8 + g]);
  __half2 p1 = __halves2half2(B[(2 * t + 8) * 8 + g], B[(2 * t + 9) * 8 + g]);
  unsigned b0 = *(unsigned*)&p0, b1 = *(unsigned*)&p1;
  float d0 = 0, d1 = 0, d2 = 0, d3 = 0;
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
               : "+f"(d0), "+f"(d1), "+f"(d2), "+f"(d3) : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
  D[g * 8 + 2 * t] = d0;
  D[g * 8 + 2 * t + 1] = d1;
  D[(g + 8) * 8 + 2 * t] = d2;
  D[(g + 8) * 8 + 2 * t + 1] = d3;
}
