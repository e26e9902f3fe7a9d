// A spin on a plain flag.
// tilewise: --kernel hand --grid 2 --block 32
// tilewise: --arg flag=i32[1]:zeros --arg data=f32[1]:zeros --arg y=f32[1]
// error deadlock.spin: line 16 spins on a non-volatile, non-atomic load; the compiler reads it once, so the loop never sees the
// store of line 14 (also race.global on flag and data). look at the PTX: either one load and an infinite loop or the loop removed
//
//
//
extern "C" __global__ void hand(int* flag, float* data, float* y) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 1) {
    data[0] = 42.f;
    __threadfence();
    flag[0] = 1;
  } else {
    while (flag[0] == 0) { }
    y[0] = data[0];
  }
}
