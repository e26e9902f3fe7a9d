// A barrier of the whole grid in software: a block's leader counts it in and waits until the generation moves on; the last to come moves
// it. Between barriers each thread takes the sum of its neighbours' values on a ring that spans all blocks.
__device__ void wait_for_grid(unsigned* arrived, volatile unsigned* generation) {
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        const unsigned now = *generation;
        if (atomicAdd(arrived, 1) == gridDim.x - 1) {
            *arrived = 0;
            __threadfence();
            *generation = now + 1;
        } else {
            while (*generation == now) {
            }
        }
        __threadfence();
    }
    __syncthreads();
}

// `values` is two rows of gridDim.x * blockDim.x; round r reads row r % 2 and writes the other. `barrier` is two zeros.
extern "C" __global__ void ring_sums(volatile unsigned* values, unsigned* barrier, int rounds) {
    const int n = gridDim.x * blockDim.x, i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int round = 0; round < rounds; ++round) {
        const volatile unsigned* from = values + round % 2 * n;
        values[(round + 1) % 2 * n + i] = from[(i + 1) % n] + from[(i + n - 1) % n] + round;
        wait_for_grid(&barrier[0], &barrier[1]);
    }
}
