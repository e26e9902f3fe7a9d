// A matrix product whose lanes run down columns.
// tilewise: --kernel mm --grid 4,4 --block 16,16
// tilewise: --arg A=f32[n,n]:normal --arg B=f32[n,n]:normal --arg C=f32[n,n] --arg n=64
// warning perf.uncoalesced: line 14 load of A: 16 rows a warp, 16 sectors for 16 useful words; line 15 store of C: 16 sectors a warp
// (ideal 4); consecutive lanes are n floats apart
//
//
//
extern "C" __global__ void mm(const float* A, const float* B, float* C, int n) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  int c = blockIdx.y * blockDim.y + threadIdx.y;
  float s = 0.f;
  for (int k = 0; k < n; ++k)
    s += A[r * n + k] * B[k * n + c];
  C[r * n + c] = s;
}
