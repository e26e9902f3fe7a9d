// schedule.difference
//
// Finds: With --schedules N, an output whose bits differ between two orders in which
// warps and blocks may take turns, where no race explains it. Sums of floats by atomics
// are the usual cause: they round differently in another order.
//
// Why: Results that change from run to run cannot be compared, cached or tested exactly.
//
// Fix: Let each thread or block add up its own part in a fixed order, and one add the
// parts in a fixed order.
//
// With: --schedules 8

// tilewise: --grid 1 --block 256 --arg 'x=f32[256]:normal' --arg 'sum=f32[1]:zeros'

// tilewise: --kernel bad
extern "C" __global__ void bad(const float* x, float* sum) {
    atomicAdd(sum, x[threadIdx.x]);
}

// tilewise: --kernel fixed
extern "C" __global__ void fixed(const float* x, float* sum) {
    __shared__ float parts[8];
    float part = x[threadIdx.x];
    for (int step = 16; step; step /= 2) part += __shfl_down_sync(0xffffffff, part, step);
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = part;
    __syncthreads();
    if (threadIdx.x != 0) return;
    for (int warp = 1; warp < 8; ++warp) part += parts[warp];
    *sum = part;
}
