// Convolution in two dimensions: the filter stands in constant memory, the image's edge is repeated outward.
constexpr int RADIUS = 2;

__constant__ float filter[2 * RADIUS + 1][2 * RADIUS + 1] = {
    {1, 4, 7, 4, 1}, {4, 16, 26, 16, 4}, {7, 26, 41, 26, 7}, {-4, -16, -26, -16, -4}, {-1, -4, -7, -4, 0.5f},
};

extern "C" __global__ void convolve(const float* image, float* out, int rows, int columns) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= rows || column >= columns) return;
    float sum = 0;
#pragma unroll 1
    for (int dy = -RADIUS; dy <= RADIUS; ++dy)
        for (int dx = -RADIUS; dx <= RADIUS; ++dx) {
            const int y = min(max(row + dy, 0), rows - 1), x = min(max(column + dx, 0), columns - 1);
            sum += filter[dy + RADIUS][dx + RADIUS] * image[y * columns + x];
        }
    out[row * columns + column] = sum;
}
