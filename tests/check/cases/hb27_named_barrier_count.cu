// A named barrier that expects more threads than come.
// tilewise: --kernel pc --grid 1 --block 128
// tilewise: --arg x=f32[64]:normal --arg y=f32[64]
// error barrier.count (deadlock): barrier 1 expects 128 threads on line 15, but 64 arrive (line 13) and 32 sync (warp 3 never
// participates)
//
//
extern "C" __global__ void pc(const float* x, float* y) {
  __shared__ float s[64];
  int t = threadIdx.x, w = t >> 5;
  if (w < 2) {
    s[t] = x[t] * 3.f;
    asm volatile("bar.arrive 1, 128;" ::: "memory");
  } else if (w == 2) {
    asm volatile("bar.sync 1, 128;" ::: "memory");
    int l = t & 31;
    y[l] = s[l];
    y[l + 32] = s[l + 32];
  }
}
