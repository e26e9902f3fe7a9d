// A local array with a dynamic index.
// tilewise: --kernel hist8 --grid 4 --block 128
// tilewise: --arg 'x=u8[4096]:uniform(0,256)' --arg h=u32[512*8]
// note perf.local_memory: array c is indexed dynamically on line 12, so it lives in local memory (ld.local/st.local per element)
//
//
//
extern "C" __global__ void hist8(const unsigned char* x, unsigned* h) {
  unsigned c[8] = {0, 0, 0, 0, 0, 0, 0, 0};
  int t = blockIdx.x * 128 + threadIdx.x;
  for (int i = 0; i < 8; ++i)
    c[x[i * 512 + t] & 7]++;
  for (int i = 0; i < 8; ++i) h[i * 512 + t] = c[i];
}
