// race.global.fence
//
// Finds: A plain store of one block and a load of another which a flag or an atomic
// connects, so that the load comes later, but without a fence between the data and the
// flag.
//
// Why: An atomic orders itself and nothing else. The other block may see the flag and
// still read what stood there before the store.
//
// Fix: __threadfence() after the store and before the flag, and again after the flag was
// seen and before the load.

// tilewise: --grid 8 --block 32
// tilewise: --arg 'x=f32[8]:arange' --arg 'parts=f32[8]' --arg 'done=u32[1]:zeros' --arg 'sum=f32[1]'

// tilewise: --kernel bad
extern "C" __global__ void bad(const float* x, float* parts, unsigned* done, float* sum) {
    if (threadIdx.x != 0) return;
    parts[blockIdx.x] = 2 * x[blockIdx.x];
    if (atomicAdd(done, 1) < gridDim.x - 1) return;
    float all = 0;
    for (unsigned i = 0; i < gridDim.x; ++i) all += parts[i];
    *sum = all;
}

// tilewise: --kernel fixed
extern "C" __global__ void fixed(const float* x, float* parts, unsigned* done,
                                 float* sum) {
    if (threadIdx.x != 0) return;
    parts[blockIdx.x] = 2 * x[blockIdx.x];
    __threadfence();
    if (atomicAdd(done, 1) < gridDim.x - 1) return;
    __threadfence();
    float all = 0;
    for (unsigned i = 0; i < gridDim.x; ++i) all += parts[i];
    *sum = all;
}
