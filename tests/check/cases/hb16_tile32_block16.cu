// A tile of 32 x 32 for a block of 16 x 16 threads.
// tilewise: --kernel mm --grid 2,2 --block 16,16
// tilewise: --arg A=f32[n,n]:normal --arg B=f32[n,n]:normal --arg C=f32[n,n] --arg n=64
// error uninit.shared: line 21 reads rows/columns 16..31 of both tiles, which no thread writes; hint: tile macro is 32 but blockDim
// is 16x16. Also unwritten output (only a quarter of C is stored)
//
//
//
#define T 32
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
    __syncthreads();
  }
  C[r * n + c] = s;
}
