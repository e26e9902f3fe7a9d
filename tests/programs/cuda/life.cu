// Conway's game of life on a torus, 32 cells a word: lanes of a warp hold neighbouring words and exchange edge bits by shuffles; neighbours
// are counted with bitwise adders.
__device__ void add_bit(unsigned bit, unsigned& ones, unsigned& twos, unsigned& fours) {
    const unsigned carry = ones & bit, carry2 = twos & carry;
    ones ^= bit;
    twos ^= carry;
    fours |= carry2;
}

// One warp a row of 1,024 cells; cell c of a row is bit c % 32 of word c / 32.
extern "C" __global__ void live(const unsigned* in, unsigned* out, int rows) {
    const int row = blockIdx.x * blockDim.y + threadIdx.y, lane = threadIdx.x;
    if (row >= rows) return;
    unsigned ones = 0, twos = 0, fours = 0, own = 0;
    for (int dy = -1; dy <= 1; ++dy) {
        const unsigned word = in[(row + dy + rows) % rows * 32 + lane];
        const unsigned left = __shfl_sync(0xffffffffu, word, (lane + 31) % 32), right = __shfl_sync(0xffffffffu, word, (lane + 1) % 32);
        add_bit(__funnelshift_l(left, word, 1), ones, twos, fours);
        add_bit(__funnelshift_r(word, right, 1), ones, twos, fours);
        if (dy)
            add_bit(word, ones, twos, fours);
        else
            own = word;
    }
    out[row * 32 + lane] = twos & ~fours & (ones | own);
}
