// A local array with indices known only at run time: all of it is written before any is read.
// tilewise: --grid 1 --block 64 --arg x=u8[16,64]:uniform(0,8) --arg y=u32[64]
extern "C" __global__ void most_frequent(const unsigned char* x, unsigned* y) {
    unsigned counts[8];
    // broken: for (int i = 1; i < 8; ++i) counts[i] = 0;
    for (int i = 0; i < 8; ++i) counts[i] = 0;
    for (int i = 0; i < 16; ++i) counts[x[i * 64 + threadIdx.x]]++;
    unsigned most = 0;
    for (int i = 1; i < 8; ++i)
        if (counts[i] > counts[most]) most = i;
    y[threadIdx.x] = most;
}
