// Either half of a warp shuffles on its own path, each naming its own lanes.
// tilewise: --grid 1 --block 64 --arg x=f32[4,16]:normal --arg y=f32[4]
extern "C" __global__ void sums_and_maxima(const float* x, float* y) {
    const int t = threadIdx.x;
    float v = x[t];
    if (t % 32 < 16) {
        for (int d = 8; d > 0; d /= 2) v += __shfl_down_sync(0x0000ffffu, v, d, 16);
    } else {
        // broken: for (int d = 8; d > 0; d /= 2) v = fmaxf(v, __shfl_down_sync(0x0000ffffu, v, d, 16));
        for (int d = 8; d > 0; d /= 2) v = fmaxf(v, __shfl_down_sync(0xffff0000u, v, d, 16));
    }
    if (t % 16 == 0) y[t / 16] = v;
}
