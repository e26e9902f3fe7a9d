// A register tile too large for 1024 threads.
// tilewise: --kernel mm8 --grid 1 --block 32,32
// tilewise: --arg A=f32[256,16]:normal --arg B=f32[16,256]:normal --arg C=f32[256,256] --arg kk=16
// error launch.registers: the kernel on line 8 needs more than 64 registers a thread (see ptxas -v), 1024 threads x regs > 65536; no
// __launch_bounds__
//
//
extern "C" __global__ void mm8(const float* A, const float* B, float* C, int kk) {
  float acc[8][8];
#pragma unroll
  for (int i = 0; i < 8; ++i)
#pragma unroll
    for (int j = 0; j < 8; ++j) acc[i][j] = 0.f;
  int r = threadIdx.y * 8, c = threadIdx.x * 8;
  for (int k = 0; k < kk; ++k) {
    float a[8], b[8];
#pragma unroll
    for (int i = 0; i < 8; ++i) a[i] = A[(r + i) * kk + k];
#pragma unroll
    for (int j = 0; j < 8; ++j) b[j] = B[k * 256 + c + j];
#pragma unroll
    for (int i = 0; i < 8; ++i)
#pragma unroll
      for (int j = 0; j < 8; ++j) acc[i][j] += a[i] * b[j];
  }
#pragma unroll
  for (int i = 0; i < 8; ++i)
#pragma unroll
    for (int j = 0; j < 8; ++j) C[(r + i) * 256 + c + j] = acc[i][j];
}
