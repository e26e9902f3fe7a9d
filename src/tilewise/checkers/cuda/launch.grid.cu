// launch.grid
//
// Finds: A grid without a block, or with more blocks along an axis than a GPU takes:
// 65,535 along y and z.
//
// Why: The launch fails. It shows only for the first matrix of that many rows.
//
// Fix: Put the long axis along x, which takes 2,147,483,647.

// tilewise: --block 32 --arg 'y=u8[65536]'

// tilewise: --kernel bad --grid 1,65536
extern "C" __global__ void bad(unsigned char* y) {
    if (threadIdx.x == 0) y[blockIdx.y] = 1;
}

// tilewise: --kernel fixed --grid 65536/32
extern "C" __global__ void fixed(unsigned char* y) {
    y[32 * blockIdx.x + threadIdx.x] = 1;
}
