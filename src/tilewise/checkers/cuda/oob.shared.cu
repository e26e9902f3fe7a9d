// oob.shared
//
// Finds: An access to shared memory beyond what the block has, its arrays of fixed size
// and its dynamic part together.
//
// Why: The launch fails with an illegal address, or, within the memory that the hardware
// set aside, the access hits bytes that belong to nobody.
//
// Fix: Make the array as large as the largest index plus 1, or the launch's dynamic part
// as large as the kernel expects.

// tilewise: --grid 1 --block 64 --arg 'x=f32[64]:arange' --arg 'y=f32[64]'

// tilewise: --kernel bad --smem 4*64
extern "C" __global__ void bad(const float* x, float* y) {
    extern __shared__ float line[];
    line[threadIdx.x + 1] = x[threadIdx.x];
    if (threadIdx.x == 0) line[0] = 0;
    __syncthreads();
    y[threadIdx.x] = line[63 - threadIdx.x] + line[64 - threadIdx.x];
}

// tilewise: --kernel fixed --smem 4*65
extern "C" __global__ void fixed(const float* x, float* y) {
    extern __shared__ float line[];
    line[threadIdx.x + 1] = x[threadIdx.x];
    if (threadIdx.x == 0) line[0] = 0;
    __syncthreads();
    y[threadIdx.x] = line[63 - threadIdx.x] + line[64 - threadIdx.x];
}
