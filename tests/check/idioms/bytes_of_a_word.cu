// Four warps store one byte each of the same words.
// tilewise: --grid 2 --block 128 --arg x=u8[2,4,32]:uniform(0,256) --arg y=u32[2,32]
extern "C" __global__ void interleave(const unsigned char* x, unsigned* y) {
    __shared__ unsigned words[32];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    unsigned char* bytes = reinterpret_cast<unsigned char*>(words);
    // broken: bytes[4 * lane + warp / 2] = x[threadIdx.x];
    bytes[4 * lane + warp] = x[blockIdx.x * 128 + threadIdx.x];
    __syncthreads();
    if (warp == 0) y[blockIdx.x * 32 + lane] = words[lane];
}
