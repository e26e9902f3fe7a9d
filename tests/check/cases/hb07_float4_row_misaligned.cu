// Sums of rows by float4, where every other row is not aligned.
// tilewise: --kernel rowsum4 --grid 8 --block 32
// tilewise: --arg A=f32[8,130]:normal --arg s=f32[8] --arg n=130
// error misaligned: 16-byte load line 12 at byte offset 520*row, not a multiple of 16 for odd rows
//
//
//
extern "C" __global__ void rowsum4(const float* A, float* s, int n) {
  const float4* row = reinterpret_cast<const float4*>(A + blockIdx.x * n);
  float acc = 0.f;
  for (int i = threadIdx.x; i < n / 4; i += 32) {
    float4 v = row[i];
    acc += v.x + v.y + v.z + v.w;
  }
  if (threadIdx.x < n % 4) acc += A[blockIdx.x * n + (n / 4) * 4 + threadIdx.x];
  for (int d = 16; d; d >>= 1) acc += __shfl_xor_sync(0xffffffffu, acc, d);
  if (threadIdx.x == 0) s[blockIdx.x] = acc;
}
