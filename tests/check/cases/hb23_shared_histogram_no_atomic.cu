// A histogram in shared memory without atomics.
// tilewise: --kernel hist --grid 4 --block 256
// tilewise: --arg 'x=u8[4096]:uniform(0,256)' --arg h=u32[64]:zeros --arg n=4096
// error race.shared.ww: line 13 non-atomic increment of s[...] by several threads in one barrier interval
//
//
//
extern "C" __global__ void hist(const unsigned char* x, unsigned* h, int n) {
  __shared__ unsigned s[64];
  if (threadIdx.x < 64) s[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    s[x[i] & 63]++;
  __syncthreads();
  if (threadIdx.x < 64) atomicAdd(&h[threadIdx.x], s[threadIdx.x]);
}
