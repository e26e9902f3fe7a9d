// A tree reduction whose block is no power of two.
// tilewise: --kernel rsum --grid 1 --block 96
// tilewise: --arg x=f32[96]:normal --arg y=f32[1]
// error wrong.result: halving from 48 passes through 3 -> 1, so element 2 of the last level is dropped (loop on line 14 needs a
// power of two block)
//
//
//
extern "C" __global__ void rsum(const float* x, float* y) {
  __shared__ float s[96];
  int t = threadIdx.x;
  s[t] = x[t];
  __syncthreads();
  for (int d = blockDim.x / 2; d > 0; d >>= 1) {
    if (t < d) s[t] += s[t + d];
    __syncthreads();
  }
  if (t == 0) y[0] = s[0];
}
