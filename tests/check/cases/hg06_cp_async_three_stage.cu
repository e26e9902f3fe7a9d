// A matrix product with three stages of asynchronous copies.
// tilewise: --kernel mm --grid 4,4 --block 16,16
// tilewise: --arg A=f32[64,64]:normal --arg B=f32[64,64]:normal --arg C=f32[64,64] --arg n=64
// clean: no error, no warning (an empty group is committed in the tail so wait_group 1 stays right)
//
//
//
//
#define T 16
__device__ __forceinline__ void cp4(float* d, const float* s) {
  unsigned a = (unsigned)__cvta_generic_to_shared(d);
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(a), "l"(s) : "memory");
}
extern "C" __global__ void mm(const float* A, const float* B, float* C, int n) {
  __shared__ float a[3][T][T];
  __shared__ float b[3][T][T];
  int tx = threadIdx.x, ty = threadIdx.y;
  int r = blockIdx.y * T + ty, c = blockIdx.x * T + tx, nt = n / T;
  for (int t = 0; t < 2; ++t) {
    if (t < nt) {
      cp4(&a[t][ty][tx], A + r * n + t * T + tx);
      cp4(&b[t][ty][tx], B + (t * T + ty) * n + c);
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
  }
  float s = 0.f;
  for (int t = 0; t < nt; ++t) {
    asm volatile("cp.async.wait_group 1;" ::: "memory");
    __syncthreads();
    int p = t + 2;
    if (p < nt) {
      cp4(&a[p % 3][ty][tx], A + r * n + p * T + tx);
      cp4(&b[p % 3][ty][tx], B + (p * T + ty) * n + c);
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
    for (int k = 0; k < T; ++k) s += a[t % 3][ty][k] * b[t % 3][k][tx];
  }
  C[r * n + c] = s;
}
