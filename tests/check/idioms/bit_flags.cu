// Threads of different warps set bits of the same words.
// tilewise: --grid 2 --block 256 --arg x=s32[2,256]:uniform(-9,9) --arg bits=u32[2,8]
extern "C" __global__ void positive_bits(const int* x, unsigned* bits) {
    __shared__ unsigned words[8];
    const int t = threadIdx.x, bit = t % 8 * 32 + t / 8;
    if (t < 8) words[t] = 0;
    __syncthreads();
    // broken: words[bit / 32] |= 1u << bit % 32;
    if (x[blockIdx.x * 256 + t] > 0) atomicOr(&words[bit / 32], 1u << bit % 32);
    __syncthreads();
    if (t < 8) bits[blockIdx.x * 8 + t] = words[t];
}
