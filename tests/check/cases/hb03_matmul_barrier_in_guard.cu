// A matrix product whose barriers stand inside the guard of the edge.
// tilewise: --kernel mm --grid 3,3 --block 16,16
// tilewise: --arg A=f32[n,n]:normal --arg B=f32[n,n]:normal --arg C=f32[n,n] --arg n=40
// error uninit.shared: line 22 reads tile slots that absent threads own, in edge blocks; note barrier.divergence: barriers lines
// 20,23 are passed by threads with r<n and c<n while the others have exited (sm_70+ does not wait for exited threads, older devices
// hang)
//
//
#define T 16
extern "C" __global__ void mm(const float* A, const float* B, float* C, int n) {
  __shared__ float a[T][T];
  __shared__ float b[T][T];
  int tx = threadIdx.x, ty = threadIdx.y;
  int r = blockIdx.y * T + ty, c = blockIdx.x * T + tx;
  if (r < n && c < n) {
    float s = 0.f;
    for (int k0 = 0; k0 < n; k0 += T) {
      a[ty][tx] = k0 + tx < n ? A[r * n + k0 + tx] : 0.f;
      b[ty][tx] = k0 + ty < n ? B[(k0 + ty) * n + c] : 0.f;
      __syncthreads();
      for (int k = 0; k < T; ++k)
        s += a[ty][k] * b[k][tx];
      __syncthreads();
    }
    C[r * n + c] = s;
  }
}
