// Blocks wait for each other at the barrier that a cooperative launch gives the grid.
// tilewise: --grid 4 --block 64 --arg x=f32[256]:normal --arg y=f32[256] --arg z=f32[256]
#include <cooperative_groups.h>

extern "C" __global__ void shift(const float* x, float* y, float* z) {
    cooperative_groups::grid_group grid = cooperative_groups::this_grid();
    unsigned i = grid.thread_rank(), n = grid.size();
    y[i] = 2 * x[i];
    // broken:
    grid.sync();
    z[i] = y[(i + 64) % n];
}
