// Blocks add their parts of a product one after another: all threads fence, and behind a barrier one of them raises the flag.
// tilewise: --grid 2,2,3 --block 64 --arg a=f32[16,48]:normal --arg b=f32[48,16]:normal --arg c=f32[16,16] --arg turn=s32[4]:zeros
extern "C" __global__ void split_k(const float* a, const float* b, float* c, int* turn) {
    const int row = blockIdx.y * 8 + threadIdx.x / 8, column = blockIdx.x * 8 + threadIdx.x % 8;
    volatile int* mine = turn + blockIdx.y * 2 + blockIdx.x;
    float part = 0;
    for (int k = blockIdx.z * 16; k < blockIdx.z * 16 + 16; ++k) part += a[row * 48 + k] * b[k * 16 + column];
    if (threadIdx.x == 0) {
        while (*mine != (int)blockIdx.z) {
        }
    }
    __syncthreads();
    __threadfence();
    c[row * 16 + column] = part + (blockIdx.z ? c[row * 16 + column] : 0);
    // broken: __threadfence_block();
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) *mine = blockIdx.z + 1;
}
