// A histogram in shared memory.
// tilewise: --kernel hist --grid 4 --block 256
// tilewise: --arg 'x=u8[5000]:uniform(0,256)' --arg h=u32[64]:zeros --arg n=5000
// clean: no error, no warning (atomics to one address are not races)
//
//
//
extern "C" __global__ void hist(const unsigned char* x, unsigned* h, int n) {
  __shared__ unsigned s[64];
  if (threadIdx.x < 64) s[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&s[x[i] & 63], 1u);
  __syncthreads();
  if (threadIdx.x < 64 && s[threadIdx.x]) atomicAdd(&h[threadIdx.x], s[threadIdx.x]);
}
