// A matrix product with two slots and one barrier a step.
// tilewise: --kernel mm --grid 4,4 --block 16,16
// tilewise: --arg A=f32[64,64]:normal --arg B=f32[64,64]:normal --arg C=f32[64,64] --arg n=64
// clean: no error, no warning (one barrier per iteration is enough with two slots)
//
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
    for (int k = 0; k < T; ++k) s += a[cur][ty][k] * b[cur][k][tx];
    if (t + 1 < nt) {
      a[cur ^ 1][ty][tx] = ra;
      b[cur ^ 1][ty][tx] = rb;
    }
    __syncthreads();
  }
  C[r * n + c] = s;
}
