// race.global
//
// Finds: Accesses of two threads to one byte of global memory, at least one of them a
// store and not both atomic, with nothing that orders them. Blocks of a grid run in any
// order and at the same time; only chains of atomics or flags with fences order them.
//
// Why: Updates get lost. total += x of two blocks reads the same old value twice, and one
// of the two additions is gone.
//
// Fix: An atomic, a place of its own for each block, or a second kernel launch for what
// must come later.

// tilewise: --grid 8 --block 32 --arg 'x=f32[8]:arange' --arg 'total=f32[1]:zeros'

// tilewise: --kernel bad
extern "C" __global__ void bad(const float* x, float* total) {
    if (threadIdx.x == 0) *total += x[blockIdx.x];
}

// tilewise: --kernel fixed
extern "C" __global__ void fixed(const float* x, float* total) {
    if (threadIdx.x == 0) atomicAdd(total, x[blockIdx.x]);
}
