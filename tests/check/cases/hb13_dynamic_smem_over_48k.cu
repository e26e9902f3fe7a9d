// More dynamic shared memory than a launch gets without asking.
// tilewise: --kernel big --grid 1 --block 256 --smem 65536
// tilewise: --arg A=f32[16384]:normal --arg B=f32[16384]
// error launch.smem_limit: 65536 bytes of dynamic shared memory need the opt-in attribute
// (cudaFuncAttributeMaxDynamicSharedMemorySize); kernel line 9
//
//
extern "C" __global__ void big(const float* A, float* B) {
  extern __shared__ float s[];
  for (int i = threadIdx.x; i < 16384; i += 256) s[i] = A[i];
  __syncthreads();
  for (int i = threadIdx.x; i < 16384; i += 256) B[i] = s[16383 - i];
}
