// A block of more threads than there may be.
// tilewise: --kernel mm --grid 2,2 --block 33,33
// tilewise: --arg A=f32[n,n]:normal --arg B=f32[n,n]:normal --arg C=f32[n,n] --arg n=66
// error launch.threads: block of 1089 threads exceeds 1024 (tile macro 33, line 8)
//
//
//
#define T 33
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
  C[r * n + c] = s;
}
