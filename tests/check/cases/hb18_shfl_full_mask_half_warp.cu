// A shuffle that names lanes which take the other path.
// tilewise: --kernel halfsum --grid 1 --block 32
// tilewise: --arg x=f32[32]:normal --arg y=f32[1]
// error warp.mask: line 13 executes with 16 active lanes but mask 0xffffffff names lanes 16..31 that take the other path
//
//
//
extern "C" __global__ void halfsum(const float* x, float* y) {
  int lane = threadIdx.x;
  float v = x[lane];
  if (lane < 16) {
    for (int d = 8; d; d >>= 1)
      v += __shfl_down_sync(0xffffffffu, v, d);
    if (lane == 0) y[0] = v;
  } else {
    v = v * 2.f;
    if (v > 1e30f) y[0] = v;
  }
}
