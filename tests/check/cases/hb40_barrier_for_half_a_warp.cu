// A barrier for half of each warp.
// tilewise: --kernel half --grid 1 --block 64
// tilewise: --arg x=f32[64]:normal --arg y=f32[64]
// error barrier.divergence: line 15 reached by lanes 0..15 of each warp while the live lanes 16..31 wait at line 18
//
//
//
//
extern "C" __global__ void half(const float* x, float* y) {
  __shared__ float s[64];
  int t = threadIdx.x;
  float v = x[t];
  if ((t & 31) < 16) {
    s[t] = v;
    __syncthreads();
    v += s[t];
  }
  __syncthreads();
  y[t] = v;
}
