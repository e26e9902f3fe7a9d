// Blocks enter a critical section in the order of their tickets.
// tilewise: --grid 7 --block 32 --arg lock=u32[2]:zeros --arg account=s32[2]:zeros --arg x=s32[7]:uniform(-9,9)
extern "C" __global__ void deposit(unsigned* lock, int* account, const int* x) {
    if (threadIdx.x != 0) return;
    const unsigned ticket = atomicAdd(&lock[0], 1u);
    while (atomicAdd(&lock[1], 0u) != ticket) {
    }
    __threadfence();
    account[0] += x[blockIdx.x];
    account[1] += 1;
    // broken:
    __threadfence();
    atomicAdd(&lock[1], 1u);
}
