// A matrix product that loads past the edge.
// tilewise: --kernel mm --grid 7,7 --block 16,16
// tilewise: --arg A=f32[n,n]:normal --arg B=f32[n,n]:normal --arg C=f32[n,n] --arg n=100
// error oob.global.read: line 17 reads past A (r>=n or k>=n), line 18 reads past B; in-range-but-wrong-row reads also make C wrong
// in the last k tile
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
    a[ty][tx] = A[r * n + k0 + tx];
    b[ty][tx] = B[(k0 + ty) * n + c];
    __syncthreads();
    for (int k = 0; k < T; ++k) s += a[ty][k] * b[k][tx];
    __syncthreads();
  }
  if (r < n && c < n) C[r * n + c] = s;
}
