// A matrix product without its second barrier.
// tilewise: --kernel mm --grid 4,4 --block 16,16
// tilewise: --arg A=f32[n,n]:normal --arg B=f32[n,n]:normal --arg C=f32[n,n] --arg n=64
// error race.shared.war: load line 21 of iteration i vs stores lines 17,18 of iteration i+1, no barrier at loop end
//
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
    for (int k = 0; k < T; ++k)
      s += a[ty][k] * b[k][tx];
  }
  C[r * n + c] = s;
}
