// A copy by float4 with a scalar tail.
// tilewise: --kernel cp4 --grid 2 --block 128
// tilewise: --arg x=f32[1003]:normal --arg y=f32[1003] --arg n=1003
// clean: no error, no warning
//
//
//
//
extern "C" __global__ void cp4(const float* x, float* y, int n) {
  int g = blockIdx.x * 128 + threadIdx.x, st = gridDim.x * 128;
  for (int i = g; i < n / 4; i += st) reinterpret_cast<float4*>(y)[i] = reinterpret_cast<const float4*>(x)[i];
  for (int i = n / 4 * 4 + g; i < n; i += st) y[i] = x[i];
}
