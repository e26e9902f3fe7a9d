// Literals that turn a float expression into double.
// tilewise: --kernel gelu --grid 4 --block 256
// tilewise: --arg x=f32[1024]:normal --arg y=f32[1024]
// warning perf.fp64: line 11 computes in double (literals without f promote a float expression)
//
//
//
extern "C" __global__ void gelu(const float* x, float* y) {
  int i = blockIdx.x * 256 + threadIdx.x;
  float v = x[i];
  y[i] = 0.5 * v * (1.0 + tanhf(0.79788456f * (v + 0.044715f * v * v * v)));
}
