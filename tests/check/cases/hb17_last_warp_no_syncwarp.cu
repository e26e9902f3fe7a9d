// A reduction whose last warp trusts in lockstep.
// tilewise: --kernel rsum --grid 4 --block 128
// tilewise: --arg x=f32[4,128]:normal --arg y=f32[4]
// error race.shared.warp: lines 16..21 exchange data between lanes of one warp with no __syncwarp (lockstep assumption)
//
//
//
extern "C" __global__ void rsum(const float* x, float* y) {
  __shared__ volatile float s[128];
  int t = threadIdx.x;
  s[t] = x[blockIdx.x * 128 + t];
  __syncthreads();
  if (t < 64) s[t] += s[t + 64];
  __syncthreads();
  if (t < 32) {
    s[t] += s[t + 32];
    s[t] += s[t + 16];
    s[t] += s[t + 8];
    s[t] += s[t + 4];
    s[t] += s[t + 2];
    s[t] += s[t + 1];
  }
  if (t == 0) y[blockIdx.x] = s[0];
}
