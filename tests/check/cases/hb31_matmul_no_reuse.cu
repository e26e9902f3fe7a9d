// A matrix product that loads every operand for every multiply.
// tilewise: --kernel mm --grid 8,8 --block 16,16
// tilewise: --arg A=f32[n,n]:normal --arg B=f32[n,n]:normal --arg C=f32[n,n] --arg n=128
// note perf.traffic: line 14 requests 2*n^3*4 = 16.8 MB for 131 kB of distinct input (each element requested 128 times); coalescing
// and correctness are fine
//
//
//
extern "C" __global__ void mm(const float* A, const float* B, float* C, int n) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  int r = blockIdx.y * blockDim.y + threadIdx.y;
  float s = 0.f;
  for (int k = 0; k < n; ++k)
    s += A[r * n + k] * B[k * n + c];
  C[r * n + c] = s;
}
