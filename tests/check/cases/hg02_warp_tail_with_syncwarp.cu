// A reduction whose last warp orders its lanes.
// tilewise: --kernel rsum --grid 4 --block 128
// tilewise: --arg x=f32[4,128]:normal --arg y=f32[4]
// clean: no error, no warning
//
//
//
//
extern "C" __global__ void rsum(const float* x, float* y) {
  __shared__ float s[128];
  int t = threadIdx.x;
  s[t] = x[blockIdx.x * 128 + t];
  __syncthreads();
  if (t < 64) s[t] += s[t + 64];
  __syncthreads();
  if (t < 32) {
    float v = s[t] + s[t + 32];
    for (int d = 16; d; d >>= 1) {
      __syncwarp();
      s[t] = v;
      __syncwarp();
      v += s[(t + d) & 31];
    }
    if (t == 0) y[blockIdx.x] = v;
  }
}
