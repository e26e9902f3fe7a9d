// A matrix product that leaves the tail of its tiles as it was.
// tilewise: --kernel mm --grid 2,2 --block 16,16
// tilewise: --arg A=f32[n,n]:normal --arg B=f32[n,n]:normal --arg C=f32[n,n] --arg n=20
// error uninit.shared: line 21 reads tile slots never written in the first k tile of edge blocks and stale values in the last k tile
// (guards on lines 17,18 lack an else)
//
//
//
#define T 16
extern "C" __global__ void mm(const float* A, const float* B, float* C, int n) {
  __shared__ float a[T][T];
  __shared__ float b[T][T];
  int tx = threadIdx.x, ty = threadIdx.y;
  int r = blockIdx.y * T + ty, c = blockIdx.x * T + tx;
  float s = 0.f;
  for (int k0 = 0; k0 < n; k0 += T) {
    if (r < n && k0 + tx < n) a[ty][tx] = A[r * n + k0 + tx];
    if (c < n && k0 + ty < n) b[ty][tx] = B[(k0 + ty) * n + c];
    __syncthreads();
    for (int k = 0; k < T; ++k)
      s += a[ty][k] * b[k][tx];
    __syncthreads();
  }
  if (r < n && c < n) C[r * n + c] = s;
}
