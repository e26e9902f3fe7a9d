// Collatz: steps until a 64-bit number comes down to one. Every lane loops for as long as its own number takes.
extern "C" __global__ void collatz(const unsigned long long* starts, unsigned* steps, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned long long x = starts[i];
    unsigned count = 0;
    while (x > 1) {
        x = x % 2 ? 3 * x + 1 : x / 2;
        ++count;
    }
    steps[i] = count;
}
