// perf.traffic
//
// Finds: An array each of whose elements is requested from global memory 16 times or
// more, where most of it does not go through shared memory.
//
// Why: Caches serve such loads, and they still cost instructions, L1 sectors and energy.
// In shared memory or registers an element is loaded once and used often.
//
// Fix: Copy tiles to shared memory, once a block: tiles of side S divide the requests by
// S.

// tilewise: --grid n/16,n/16 --block 16,16
// tilewise: --arg 'A=f32[n,n]:normal' --arg 'B=f32[n,n]:normal' --arg 'C=f32[n,n]' --arg n=64

// tilewise: --kernel bad
extern "C" __global__ void bad(const float* A, const float* B, float* C, int n) {
    const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < n; ++k) sum += A[row * n + k] * B[k * n + column];
    C[row * n + column] = sum;
}

// tilewise: --kernel fixed
extern "C" __global__ void fixed(const float* A, const float* B, float* C, int n) {
    __shared__ float a_tile[16][16], b_tile[16][16];
    const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    float sum = 0;
    for (int k0 = 0; k0 < n; k0 += 16) {
        a_tile[threadIdx.y][threadIdx.x] = A[row * n + k0 + threadIdx.x];
        b_tile[threadIdx.y][threadIdx.x] = B[(k0 + threadIdx.y) * n + column];
        __syncthreads();
        for (int k = 0; k < 16; ++k)
            sum += a_tile[threadIdx.y][k] * b_tile[k][threadIdx.x];
        __syncthreads();
    }
    C[row * n + column] = sum;
}
