// race.benign
//
// Finds: Stores of several threads to one place with nothing that orders them, all of the
// same value.
//
// Why: Hardware gives the right result: whichever store comes last, the value is the
// same. By the rules of C++ it is still a race, and it turns into a real one as soon as
// the values differ.
//
// Fix: nothing, if it is meant; a vote such as __syncthreads_or() says the same without a
// race.

// tilewise: --grid 1 --block 128 --arg 'x=f32[128]:full(-1)' --arg 'y=i32[1]'

// tilewise: --kernel bad
extern "C" __global__ void bad(const float* x, int* y) {
    __shared__ int has_negative;
    if (threadIdx.x == 0) has_negative = 0;
    __syncthreads();
    if (x[threadIdx.x] < 0) has_negative = 1;
    __syncthreads();
    if (threadIdx.x == 0) *y = has_negative;
}

// tilewise: --kernel fixed
extern "C" __global__ void fixed(const float* x, int* y) {
    const int has_negative = __syncthreads_or(x[threadIdx.x] < 0);
    if (threadIdx.x == 0) *y = has_negative;
}
