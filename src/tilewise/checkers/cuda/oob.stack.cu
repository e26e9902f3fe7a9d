// oob.stack
//
// Finds: Functions that call themselves until their variables take more than the thread's
// stack.
//
// Why: The launch fails. A recursion whose depth hangs on the data may be right for
// years, and fail with the first deep input.
//
// Fix: End the recursion earlier, or write it as a loop.

// tilewise: --grid 1 --block 32 --arg 'y=i32[32]'

// tilewise: --kernel bad
__device__ __noinline__ int deeper(int n, const int* last) {
    int here[16];
    for (int i = 0; i < 16; ++i) here[i] = n + last[i % 4];
    return n < 1000000 ? deeper(n + 1, here) + here[n % 16] : here[0];
}

extern "C" __global__ void bad(int* y) {
    const int first[4] = {1, 2, 3, 4};
    y[threadIdx.x] = deeper(threadIdx.x, first);
}

// tilewise: --kernel fixed
extern "C" __global__ void fixed(int* y) {
    int sum = 0;
    for (int n = threadIdx.x; n < 1000; ++n) sum += n;
    y[threadIdx.x] = sum;
}
