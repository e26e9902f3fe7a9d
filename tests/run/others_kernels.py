"""Kernels as others write them."""

MATMUL = """#define T 16
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
"""

SEVERAL = """
namespace ns {
template <int A, class T> __global__ void scale(T* x, int n) { int i = threadIdx.x; if (i < n) x[i] = A * x[i]; }
}
template __global__ void ns::scale<5, float>(float*, int);
__global__ void twice(float* x) { x[threadIdx.x] *= 2; }
__global__ void twice(int* x) { x[threadIdx.x] *= 2; }
extern "C" __global__ void plain(int* x) { x[0] = 7; }
namespace { __global__ void hidden(int* x) { x[0] = 8; } }
"""
