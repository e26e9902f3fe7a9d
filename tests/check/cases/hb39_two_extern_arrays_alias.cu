// Two extern arrays that are one.
// tilewise: --kernel mm --grid 4,4 --block 16,16 --smem 2048
// tilewise: --arg A=f32[64,64]:normal --arg B=f32[64,64]:normal --arg C=f32[64,64] --arg n=64
// error race.shared.ww: lines 17 and 18 store through two names for the same bytes (both extern arrays start at offset 0 of dynamic
// shared memory); C wrong
//
//
//
#define T 16
extern __shared__ float ta[];
extern __shared__ float tb[];
extern "C" __global__ void mm(const float* A, const float* B, float* C, int n) {
  int tx = threadIdx.x, ty = threadIdx.y;
  int r = blockIdx.y * T + ty, c = blockIdx.x * T + tx;
  float s = 0.f;
  for (int k0 = 0; k0 < n; k0 += T) {
    ta[ty * T + tx] = A[r * n + k0 + tx];
    tb[tx * T + ty] = B[(k0 + ty) * n + c];
    __syncthreads();
    for (int k = 0; k < T; ++k) s += ta[ty * T + k] * tb[tx * T + k];
    __syncthreads();
  }
  C[r * n + c] = s;
}
