// Producers and consumers in turns kept by named barriers.
// tilewise: --kernel pc --grid 1 --block 128
// tilewise: --arg x=f32[8,64]:normal --arg y=f32[8,64]
// clean: no error, no warning (bar.arrive/bar.sync pairs, two slots)
//
//
//
extern "C" __global__ void pc(const float* x, float* y) {
  __shared__ float s[2][64];
  int t = threadIdx.x & 63;
  if (threadIdx.x < 64) {
    for (int k = 0; k < 8; ++k) {
      if (k >= 2) asm volatile("bar.sync %0, 128;" ::"r"(3 + (k & 1)) : "memory");
      s[k & 1][t] = x[k * 64 + t];
      asm volatile("bar.arrive %0, 128;" ::"r"(1 + (k & 1)) : "memory");
    }
  } else {
    for (int k = 0; k < 8; ++k) {
      asm volatile("bar.sync %0, 128;" ::"r"(1 + (k & 1)) : "memory");
      y[k * 64 + t] = s[k & 1][63 - t];
      if (k < 6) asm volatile("bar.arrive %0, 128;" ::"r"(3 + (k & 1)) : "memory");
    }
  }
}
