// launch.smem_limit
//
// Finds: A block with more shared memory than the device gives one, or more than 48 KiB
// of it without the host's leave.
//
// Why: The launch fails. Above 48 KiB a kernel gets dynamic shared memory only after the
// host has asked for it.
//
// Fix: Smaller tiles; or cudaFuncSetAttribute(kernel,
// cudaFuncAttributeMaxDynamicSharedMemorySize, bytes) before the launch, stated here with
// --max-dynamic-smem.

// tilewise: --grid 1 --block 256 --smem 65536 --arg 'x=f32[16384]:arange' --arg 'y=f32[16384]'

// tilewise: --kernel bad
extern "C" __global__ void bad(const float* x, float* y) {
    extern __shared__ float line[];
    for (int i = threadIdx.x; i < 16384; i += 256) line[i] = x[i];
    __syncthreads();
    for (int i = threadIdx.x; i < 16384; i += 256) y[i] = line[16383 - i];
}

// tilewise: --kernel fixed --max-dynamic-smem 65536
extern "C" __global__ void fixed(const float* x, float* y) {
    extern __shared__ float line[];
    for (int i = threadIdx.x; i < 16384; i += 256) line[i] = x[i];
    __syncthreads();
    for (int i = threadIdx.x; i < 16384; i += 256) y[i] = line[16383 - i];
}
