// wrong.result
//
// Finds: An output that is not what --expect says it should be, beyond what rounding
// explains: the tolerance grows with the number and the size of the terms that are added.
//
// Why: Nothing else need be wrong with the kernel: an index exchanged, a sign, a tail
// left out.
//
// Fix: Follow one wrong element with tilewise trace, which shows what a thread reads and
// computes, line by line.
//
// With: --expect 'C = A @ B'

// tilewise: --grid 1 --block 8,8
// tilewise: --arg 'A=f32[8,8]:normal' --arg 'B=f32[8,8]:normal' --arg 'C=f32[8,8]' --arg n=8

// tilewise: --kernel bad
extern "C" __global__ void bad(const float* A, const float* B, float* C, int n) {
    float sum = 0;
    for (int k = 0; k < n; ++k) sum += A[threadIdx.y * n + k] * B[threadIdx.x * n + k];
    C[threadIdx.y * n + threadIdx.x] = sum;
}

// tilewise: --kernel fixed
extern "C" __global__ void fixed(const float* A, const float* B, float* C, int n) {
    float sum = 0;
    for (int k = 0; k < n; ++k) sum += A[threadIdx.y * n + k] * B[k * n + threadIdx.x];
    C[threadIdx.y * n + threadIdx.x] = sum;
}
