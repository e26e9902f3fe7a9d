// A dot product that blocks add up without an atomic.
// tilewise: --kernel dot --grid 8 --block 128
// tilewise: --arg x=f32[1024]:normal --arg y=f32[1024]:normal --arg out=f32[1]:zeros
// error race.global: line 17 read-modify-write of out[0] by 8 blocks without an atomic
//
//
//
extern "C" __global__ void dot(const float* x, const float* y, float* out) {
  __shared__ float s[128];
  int t = threadIdx.x, i = blockIdx.x * 128 + t;
  s[t] = x[i] * y[i];
  __syncthreads();
  for (int d = 64; d; d >>= 1) {
    if (t < d) s[t] += s[t + d];
    __syncthreads();
  }
  if (t == 0) out[0] += s[0];
}
