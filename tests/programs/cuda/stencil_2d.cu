// Nine-point stencil in two dimensions: a block stages its tile and the halo round it in shared memory. Outside the grid stands zero.
constexpr int WIDTH = 30, HEIGHT = 10, HALO = 1;  // 300 threads
constexpr int STAGED_WIDTH = WIDTH + 2 * HALO, STAGED_HEIGHT = HEIGHT + 2 * HALO;

extern "C" __global__ void __launch_bounds__(WIDTH* HEIGHT) smooth(const float* in, float* out, int rows, int columns) {
    __shared__ float tile[STAGED_HEIGHT][STAGED_WIDTH];
    const int first_row = blockIdx.y * HEIGHT, first_column = blockIdx.x * WIDTH;
    for (int i = threadIdx.y * WIDTH + threadIdx.x; i < STAGED_WIDTH * STAGED_HEIGHT; i += WIDTH * HEIGHT) {
        const int y = i / STAGED_WIDTH, x = i % STAGED_WIDTH;
        const int row = first_row + y - HALO, column = first_column + x - HALO;
        const bool inside = row >= 0 && row < rows && column >= 0 && column < columns;
        tile[y][x] = inside ? in[row * columns + column] : 0.0f;
    }
    __syncthreads();
    const int row = first_row + threadIdx.y, column = first_column + threadIdx.x;
    if (row >= rows || column >= columns) return;
    float sum = 0;
    for (int dy = 0; dy < 3; ++dy)
        for (int dx = 0; dx < 3; ++dx) sum += tile[threadIdx.y + dy][threadIdx.x + dx] * (float)((dx == 1 ? 2 : 1) * (dy == 1 ? 2 : 1));
    out[row * columns + column] = sum / 16.0f;
}
