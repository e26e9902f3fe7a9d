// A transpose through a tile without padding.
// tilewise: --kernel tr --grid 2,2 --block 32,8
// tilewise: --arg A=f32[64,64]:normal --arg B=f32[64,64] --arg n=64
// warning perf.bank_conflict: line 16 32-way conflict (stride 32 words); results correct
//
//
//
extern "C" __global__ void tr(const float* A, float* B, int n) {
  __shared__ float t[32][32];
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8) t[threadIdx.y + j][threadIdx.x] = A[(y + j) * n + x];
  __syncthreads();
  x = blockIdx.y * 32 + threadIdx.x;
  y = blockIdx.x * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8)
    B[(y + j) * n + x] = t[threadIdx.x][threadIdx.y + j];
}
