// Layer norm, a warp a row: mean and sum of squared differences by Welford's update, merged between lanes by shuffles (Chan's rule).
struct Moments {
    float count, mean, squares;
};

__device__ Moments merge(Moments a, Moments b) {
    const float count = a.count + b.count, difference = b.mean - a.mean;
    if (count == 0) return a;
    const float share = b.count / count;
    return {count, a.mean + difference * share, a.squares + b.squares + difference * difference * a.count * share};
}

extern "C" __global__ void layer_norm(const float* in, const float* gain, const float* bias, float* out, int rows, int columns,
                                      float epsilon) {
    const int row = blockIdx.x * blockDim.y + threadIdx.y, lane = threadIdx.x;
    if (row >= rows) return;
    const float* x = in + (size_t)row * columns;
    Moments own = {0, 0, 0};
    for (int column = lane; column < columns; column += 32) {
        own.count += 1;
        const float difference = x[column] - own.mean;
        own.mean += difference / own.count;
        own.squares += difference * (x[column] - own.mean);
    }
    for (int step = 1; step < 32; step *= 2) {
        const Moments other = {__shfl_down_sync(0xffffffffu, own.count, step), __shfl_down_sync(0xffffffffu, own.mean, step),
                               __shfl_down_sync(0xffffffffu, own.squares, step)};
        own = merge(own, other);
    }
    const float mean = __shfl_sync(0xffffffffu, own.mean, 0);
    const float scale = rsqrtf(__shfl_sync(0xffffffffu, own.squares, 0) / columns + epsilon);
    for (int column = lane; column < columns; column += 32)
        out[(size_t)row * columns + column] = (x[column] - mean) * scale * gain[column] + bias[column];
}
