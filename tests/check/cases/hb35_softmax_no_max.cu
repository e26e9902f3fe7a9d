// A softmax that does not subtract the maximum.
// tilewise: --kernel smax --grid 4 --block 32
// tilewise: --arg 'x=f32[4,64]:uniform(0,200)' --arg y=f32[4,64]
// error numeric.nonfinite: line 11 overflows to inf for x > 88.7 (max not subtracted), line 14 gives inf/inf = NaN
//
//
//
//
extern "C" __global__ void smax(const float* x, float* y) {
  int r = blockIdx.x, l = threadIdx.x;
  float a = expf(x[r * 64 + l]), b = expf(x[r * 64 + l + 32]);
  float s = a + b;
  for (int d = 16; d; d >>= 1) s += __shfl_xor_sync(0xffffffffu, s, d);
  y[r * 64 + l] = a / s;
  y[r * 64 + l + 32] = b / s;
}
