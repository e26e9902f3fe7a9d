// A transpose through a padded tile.
// tilewise: --kernel tr --grid 3,3 --block 32,8
// tilewise: --arg A=f32[70,90]:normal --arg B=f32[90,70] --arg h=70 --arg w=90
// clean: no error, no warning, no bank conflict, coalesced both ways
//
//
//
//
extern "C" __global__ void tr(const float* A, float* B, int h, int w) {
  __shared__ float t[32][33];
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8)
    if (x < w && y + j < h) t[threadIdx.y + j][threadIdx.x] = A[(y + j) * w + x];
  __syncthreads();
  x = blockIdx.y * 32 + threadIdx.x;
  y = blockIdx.x * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8)
    if (x < h && y + j < w) B[(y + j) * h + x] = t[threadIdx.x][threadIdx.y + j];
}
