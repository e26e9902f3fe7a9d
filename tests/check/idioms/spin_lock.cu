// A lock taken by compare and swap: a fence behind taking it, one before giving it back.
// tilewise: --grid 6 --block 32 --arg lock=u32[1]:zeros --arg least=s32[2]:full(1000) --arg x=s32[6]:uniform(-500,500)
extern "C" __global__ void keep_least(unsigned* lock, int* least, const int* x) {
    if (threadIdx.x != 0) return;
    const int v = x[blockIdx.x];
    while (atomicCAS(lock, 0u, 1u) != 0) {
    }
    // broken:
    __threadfence();
    const int seen = least[0];
    if (v < seen) {
        least[0] = v;
        least[1] = seen;
    } else if (v < least[1]) {
        least[1] = v;
    }
    __threadfence();
    atomicExch(lock, 0u);
}
