// Seven-point stencil in three dimensions: a block marches along z; the plane at hand stands in shared memory with its halo, the points
// below and above in registers.
constexpr int WIDTH = 16, HEIGHT = 8;

// Grid of nx * ny * nz points, x fastest; points on its surface are copied.
extern "C" __global__ void __launch_bounds__(WIDTH* HEIGHT) diffuse(const float* in, float* out, int nx, int ny, int nz, float rate) {
    __shared__ float plane[HEIGHT + 2][WIDTH + 2];
    const int x = blockIdx.x * WIDTH + threadIdx.x, y = blockIdx.y * HEIGHT + threadIdx.y, tx = threadIdx.x + 1, ty = threadIdx.y + 1;
    const bool inside = x < nx && y < ny;
    const size_t layer = (size_t)nx * ny, at = (size_t)y * nx + x;
    float below = 0, here = inside ? in[at] : 0, above = inside && nz > 1 ? in[at + layer] : 0;
    for (int z = 0; z < nz; ++z) {
        plane[ty][tx] = here;
        if (inside) {
            const float* row = in + z * layer + (size_t)y * nx;
            if (threadIdx.x == 0 && x > 0) plane[ty][0] = row[x - 1];
            if (threadIdx.x == WIDTH - 1 && x + 1 < nx) plane[ty][WIDTH + 1] = row[x + 1];
            if (threadIdx.y == 0 && y > 0) plane[0][tx] = row[x - nx];
            if (threadIdx.y == HEIGHT - 1 && y + 1 < ny) plane[HEIGHT + 1][tx] = row[x + nx];
        }
        __syncthreads();
        if (inside) {
            const bool surface = x == 0 || x == nx - 1 || y == 0 || y == ny - 1 || z == 0 || z == nz - 1;
            const float around = plane[ty][tx - 1] + plane[ty][tx + 1] + plane[ty - 1][tx] + plane[ty + 1][tx] + below + above;
            out[z * layer + at] = surface ? here : here + rate * (around - 6.0f * here);
        }
        __syncthreads();
        below = here;
        here = above;
        above = inside && z + 2 < nz ? in[(z + 2) * layer + at] : 0;
    }
}
