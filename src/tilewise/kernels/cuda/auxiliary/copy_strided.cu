// Copies a matrix of 4-byte words between any two places: strides are bytes and may be negative or zero, addresses any.
//
// For operands that no rung reads in place. A thread takes every (gridDim.x * blockDim.x)-th word; words that are not aligned go
// byte by byte.

__device__ __forceinline__ bool is_aligned(const char* at, long long row_bytes, long long column_bytes) {
    return (reinterpret_cast<size_t>(at) | row_bytes | column_bytes) % 4 == 0;
}

extern "C" __global__ void __launch_bounds__(256) copy_strided(const char* from, char* to, int rows, int columns, long long from_row,
                                                               long long from_column, long long to_row, long long to_column) {
    const bool aligned = is_aligned(from, from_row, from_column) && is_aligned(to, to_row, to_column);
    const long long words = (long long)rows * columns, step = (long long)gridDim.x * blockDim.x;
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < words; i += step) {
        const long long row = i / columns, column = i % columns;
        const char* source = from + row * from_row + column * from_column;
        char* target = to + row * to_row + column * to_column;
        if (aligned) {
            *reinterpret_cast<int*>(target) = *reinterpret_cast<const int*>(source);
        } else {
            for (int byte = 0; byte < 4; ++byte) target[byte] = source[byte];
        }
    }
}
