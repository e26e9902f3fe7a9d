// A double buffer that prefetches into the slot being read.
// tilewise: --kernel mm --grid 4,4 --block 16,16
// tilewise: --arg A=f32[n,n]:normal --arg B=f32[n,n]:normal --arg C=f32[n,n] --arg n=64
// error race.shared.war: the prefetch stores on lines 29,30 write the slot that line 27 is reading in the same barrier interval
// (should be cur^1)
//
//
//
#define T 16
extern "C" __global__ void mm(const float* A, const float* B, float* C, int n) {
  __shared__ float a[2][T][T];
  __shared__ float b[2][T][T];
  int tx = threadIdx.x, ty = threadIdx.y;
  int r = blockIdx.y * T + ty, c = blockIdx.x * T + tx, nt = n / T;
  a[0][ty][tx] = A[r * n + tx];
  b[0][ty][tx] = B[ty * n + c];
  __syncthreads();
  float s = 0.f;
  for (int t = 0; t < nt; ++t) {
    int cur = t & 1;
    float ra = 0.f, rb = 0.f;
    if (t + 1 < nt) {
      ra = A[r * n + (t + 1) * T + tx];
      rb = B[((t + 1) * T + ty) * n + c];
    }
    for (int k = 0; k < T; ++k)
      s += a[cur][ty][k] * b[cur][k][tx];
    if (t + 1 < nt) {
      a[cur][ty][tx] = ra;
      b[cur][ty][tx] = rb;
    }
    __syncthreads();
  }
  C[r * n + c] = s;
}
