// schedule.difference
//
// Finds: With --schedules N, an output whose bits differ between two orders in which
// warps and blocks may take turns, where no race explains it. Places that atomics give
// out are a usual cause. Where sums of floats by atomics differ in their last digits, as
// they do by rounding, it is a note.
//
// Why: Results that change from run to run cannot be compared, cached or tested exactly.
//
// Fix: Let what a thread writes, and where, hang on its number: count the threads before
// it, instead of drawing a place. Add the parts of a sum in a fixed order.
//
// With: --schedules 8

// tilewise: --grid 1 --block 256 --arg 'x=f32[256]:normal' --arg 'kept=f32[256]:zeros' --arg 'count=s32[1]:zeros'

// tilewise: --kernel bad
extern "C" __global__ void bad(const float* x, float* kept, int* count) {
    if (x[threadIdx.x] > 0) kept[atomicAdd(count, 1)] = x[threadIdx.x];
}

// tilewise: --kernel fixed
extern "C" __global__ void fixed(const float* x, float* kept, int* count) {
    __shared__ int counts[8];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const bool keep = x[threadIdx.x] > 0;
    const unsigned kept_lanes = __ballot_sync(0xffffffff, keep);
    if (lane == 0) counts[warp] = __popc(kept_lanes);
    __syncthreads();
    int place = __popc(kept_lanes & ((1u << lane) - 1));
    for (int before = 0; before < warp; ++before) place += counts[before];
    if (keep) kept[place] = x[threadIdx.x];
    if (threadIdx.x == 255) *count = place + keep;
}
