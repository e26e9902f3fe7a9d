// A vector update that stores past the edge.
// tilewise: --kernel axpby --grid 4 --block 256
// tilewise: --arg x=f32[1000]:normal --arg y=f32[1000] --arg a=2.0 --arg n=1000
// error oob.global.write: line 11, first bad thread block 3 thread 232 writes y[1000] (24 threads in all)
//
//
//
extern "C" __global__ void axpby(const float* x, float* y, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float v = i < n ? x[i] : 0.f;
  y[i] = a * v + 1.f;
}
