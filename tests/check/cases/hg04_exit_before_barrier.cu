// Threads that leave before a barrier.
// tilewise: --kernel shiftc --grid 2 --block 128
// tilewise: --arg x=f32[200]:normal --arg y=f32[200] --arg n=200
// clean: no error, no warning (threads that returned do not hold up bar.sync on sm_70+, and their slots are not read)
//
//
//
extern "C" __global__ void shiftc(const float* x, float* y, int n) {
  __shared__ float s[128];
  int i = blockIdx.x * 128 + threadIdx.x;
  if (i >= n) return;
  int live = min(128, n - blockIdx.x * 128);
  s[threadIdx.x] = x[i];
  __syncthreads();
  y[i] = s[(threadIdx.x + 1) % live];
}
