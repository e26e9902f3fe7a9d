// Lanes of one warp store either half of the same words.
// tilewise: --grid 1 --block 64 --arg x=u16[64]:uniform(0,65536) --arg y=u32[32]
extern "C" __global__ void pair_up(const unsigned short* x, unsigned* y) {
    __shared__ unsigned words[32];
    const int t = threadIdx.x;
    // broken: reinterpret_cast<unsigned short*>(words)[t & ~1] = x[t];
    reinterpret_cast<unsigned short*>(words)[t] = x[t];
    __syncthreads();
    if (t < 32) y[t] = words[t];
}
