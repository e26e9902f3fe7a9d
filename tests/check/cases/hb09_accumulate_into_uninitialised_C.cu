// A matrix product that adds to memory nobody has written.
// tilewise: --kernel mm --grid 4,4 --block 16,16
// tilewise: --arg A=f32[64,64]:normal --arg B=f32[64,64]:normal --arg C=f32[64,64] --arg n=64
// error uninit.global: line 21 reads C before any write
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
  for (int k0 = 0; k0 < n; k0 += T) {
    a[ty][tx] = A[r * n + k0 + tx];
    b[ty][tx] = B[(k0 + ty) * n + c];
    __syncthreads();
    float s = 0.f;
    for (int k = 0; k < T; ++k) s += a[ty][k] * b[k][tx];
    C[r * n + c] += s;
    __syncthreads();
  }
}
