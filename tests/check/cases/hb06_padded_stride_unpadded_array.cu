// A transpose with the padded stride in an array that has no padding.
// tilewise: --kernel tr --grid 2,2 --block 16,16
// tilewise: --arg A=f32[32,32]:normal --arg B=f32[32,32] --arg n=32
// error oob.shared: line 12 writes t[ty*17+tx] up to 270 in an array of 256 floats; same on line 14
//
//
//
#define T 16
extern "C" __global__ void tr(const float* A, float* B, int n) {
  __shared__ float t[T * T];
  int tx = threadIdx.x, ty = threadIdx.y;
  t[ty * (T + 1) + tx] = A[(blockIdx.y * T + ty) * n + blockIdx.x * T + tx];
  __syncthreads();
  B[(blockIdx.x * T + ty) * n + blockIdx.y * T + tx] = t[tx * (T + 1) + ty];
}
