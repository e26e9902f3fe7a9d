// overflow.index
//
// Finds: A bad address whose index was computed in 32 bits that do not hold it: row *
// columns beyond 2,147,483,647 becomes negative.
//
// Why: It works for every small matrix, and fails for the first one of more than two
// thousand million elements.
//
// Fix: Compute the index in 64 bits, as in (size_t)row * columns + column.

// tilewise: --grid 1 --block 32 --arg 'x=u8[32768]:zeros' --arg first=65536*32768
// tilewise: --arg row=65536 --arg columns=32768

// tilewise: --kernel bad
// x is the part of a large matrix that begins at element `first`
extern "C" __global__ void bad(unsigned char* x, long long first, int row, int columns) {
    const int index = row * columns + threadIdx.x;
    x[index - first] = 1;
}

// tilewise: --kernel fixed
extern "C" __global__ void fixed(unsigned char* x, long long first, int row,
                                 int columns) {
    const long long index = (long long)row * columns + threadIdx.x;
    x[index - first] = 1;
}
