// A double buffer that does not wait for its last copy.
// tilewise: --kernel mm --grid 4,4 --block 16,16
// tilewise: --arg A=f32[n,n]:normal --arg B=f32[n,n]:normal --arg C=f32[n,n] --arg n=64
// error async.cp_async_wait: in the last iteration no new group was committed, so wait_group 1 on line 30 leaves the last tile in
// flight; line 33 reads shared bytes whose async copy is not complete
//
//
//
#define T 16
__device__ __forceinline__ void cp4(float* d, const float* s) {
  unsigned a = (unsigned)__cvta_generic_to_shared(d);
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(a), "l"(s) : "memory");
}
extern "C" __global__ void mm(const float* A, const float* B, float* C, int n) {
  __shared__ float a[2][T][T];
  __shared__ float b[2][T][T];
  int tx = threadIdx.x, ty = threadIdx.y;
  int r = blockIdx.y * T + ty, c = blockIdx.x * T + tx, nt = n / T;
  cp4(&a[0][ty][tx], A + r * n + tx);
  cp4(&b[0][ty][tx], B + ty * n + c);
  asm volatile("cp.async.commit_group;" ::: "memory");
  float s = 0.f;
  for (int t = 0; t < nt; ++t) {
    int cur = t & 1;
    if (t + 1 < nt) {
      cp4(&a[cur ^ 1][ty][tx], A + r * n + (t + 1) * T + tx);
      cp4(&b[cur ^ 1][ty][tx], B + ((t + 1) * T + ty) * n + c);
      asm volatile("cp.async.commit_group;" ::: "memory");
    }
    asm volatile("cp.async.wait_group 1;" ::: "memory");
    __syncthreads();
    for (int k = 0; k < T; ++k)
      s += a[cur][ty][k] * b[cur][k][tx];
    __syncthreads();
  }
  C[r * n + c] = s;
}
