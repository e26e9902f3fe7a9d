// Threads that store the same value.
// tilewise: --kernel anyneg --grid 2 --block 128
// tilewise: --arg x=f32[2,128]:normal --arg y=i32[2]
// note race.benign: line 12 several threads store the same value 1 to one shared word; must not be reported as an error
//
//
//
extern "C" __global__ void anyneg(const float* x, int* y) {
  __shared__ int f;
  if (threadIdx.x == 0) f = 0;
  __syncthreads();
  if (x[blockIdx.x * 128 + threadIdx.x] < 0.f) f = 1;
  __syncthreads();
  if (threadIdx.x == 0) y[blockIdx.x] = f;
}
