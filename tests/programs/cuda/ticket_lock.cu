// A ticket lock round plain loads and stores. All threads of all warps and blocks want it, so lanes of one warp wait for each other: that
// needs independent thread scheduling.
struct Lock {
    unsigned next_ticket;
    volatile unsigned now_serving;
};

struct Account {
    int balance, entries;
};

// `log` receives who came, in the order of the tickets.
extern "C" __global__ void deposit(Lock* lock, volatile Account* account, const int* amounts, int* log, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const unsigned ticket = atomicAdd(&lock->next_ticket, 1);
    while (lock->now_serving != ticket) {
    }
    __threadfence();
    log[account->entries] = i;
    account->entries = account->entries + 1;
    account->balance = account->balance + amounts[i];
    __threadfence();
    lock->now_serving = ticket + 1;
}
