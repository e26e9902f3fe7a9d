// A row's index that overflows 32 bits.
// tilewise: --kernel rowset --grid 1 --block 256
// tilewise: --arg A=u8[65537*32768]:zeros --arg row=65536 --arg cols=32768
// error overflow.index: line 10 row*cols = 2^31 wraps negative in 32-bit arithmetic, so line 11 writes about 2 GiB before the buffer
//
//
//
extern "C" __global__ void rowset(unsigned char* A, int row, int cols) {
  for (int c = threadIdx.x; c < cols; c += blockDim.x) {
    int idx = row * cols + c;
    A[idx] = 7;
  }
}
