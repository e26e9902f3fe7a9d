// Functions in every way that they are called: by name, by address, by themselves, with structures, and left in the middle.
extern "C" __device__ void __assertfail(const char*, const char*, unsigned, const char*, size_t);

__device__ __noinline__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

extern "C" __global__ void recursive(int* out, int n) {
    const int i = threadIdx.x;
    if (i < n) out[i] = fibonacci(i & 7);
}

__device__ __noinline__ int is_odd(int n);
__device__ __noinline__ int is_even(int n) { return n == 0 ? 1 : is_odd(n - 1); }
__device__ __noinline__ int is_odd(int n) { return n == 0 ? 0 : is_even(n - 1); }

extern "C" __global__ void in_turns(int* out, int limit) { out[threadIdx.x] = threadIdx.x < limit ? is_even(threadIdx.x) : 2; }

__device__ __noinline__ void quicksort(int* values, int count) {
    if (count < 2) return;
    int pivot = values[count / 2], low = 0, high = count - 1;
    while (low <= high) {
        while (values[low] < pivot) ++low;
        while (values[high] > pivot) --high;
        if (low <= high) {
            const int kept = values[low];
            values[low++] = values[high];
            values[high--] = kept;
        }
    }
    quicksort(values, high + 1);
    quicksort(values + low, count - low);
}

extern "C" __global__ void sort_rows(int* rows, int width) { quicksort(rows + width * threadIdx.x, width); }

__device__ __noinline__ int deep(int n) {
    volatile int kept[64];
    kept[n & 63] = n;
    return n <= 0 ? 0 : 1 + deep(n - 1) + kept[n & 63] - n;
}

extern "C" __global__ void too_deep(int* out, int n) { out[threadIdx.x] = deep(threadIdx.x == 5 ? n : 1); }

using Change = float (*)(float);
__device__ float squared(float x) { return x * x; }
__device__ float negated(float x) { return -x; }
__device__ Change changes[2] = {squared, negated};

extern "C" __global__ void by_address(float* x, const int* which) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    x[i] = changes[which[i]](x[i]);
}

extern "C" __global__ void by_any_address(float* x, unsigned long long address) {
    Change change = changes[threadIdx.x & 1];
    if (threadIdx.x == 7) change = (Change)address;
    x[threadIdx.x] = change(x[threadIdx.x]);
}

struct Shape {
    virtual __device__ float area(float x) const { return x; }
};
struct Disc : Shape {
    __device__ float area(float x) const override { return 3 * x * x; }
};
struct Square : Shape {
    __device__ float area(float x) const override { return x * x; }
};

extern "C" __global__ void virtual_functions(float* x) {
    Shape shape;
    Disc disc;
    Square square;
    const Shape* shapes[3] = {&shape, &disc, &square};
    x[threadIdx.x] = shapes[threadIdx.x % 3]->area(x[threadIdx.x]);
}

struct Point {
    float x, y, z;
    int tag;
};
struct Table {
    int values[12];
};

__device__ __noinline__ Point scaled(Point point, float by) {
    point.x *= by;
    point.y *= by;
    point.z *= by;
    point.tag++;
    return point;
}

extern "C" __global__ void structures(Point* points, Point other, Table table, float by) {
    Point point = scaled(points[threadIdx.x], by);
    const Point second = scaled(other, point.x);
    point.y += second.y;
    point.tag += table.values[threadIdx.x % 12];
    points[threadIdx.x] = point;
}

extern "C" __global__ void cases(int* x) {
    const int i = threadIdx.x;
    switch (x[i]) {
        case 0:
            x[i] = 17;
            break;
        case 1:
            x[i] += i;
            break;
        case 2:
            x[i] *= 3;
            break;
        case 3:
            x[i] ^= 0x55;
            break;
        case 4:
            x[i] = i * i;
            break;
        case 5:
            x[i] = -1;
            break;
        case 6:
            x[i] = 99;
            break;
        case 7:
            x[i] = 2 * i;
            break;
        default:
            x[i] = 1000;
    }
}

__device__ __noinline__ void leave(int x) {
    if (x > 3) asm volatile("exit;");
}

extern "C" __global__ void left(int* y) {
    leave(threadIdx.x);
    y[threadIdx.x] = 1;
}

__device__ __noinline__ float summed(float x, float* shared) {
    shared[threadIdx.x] = x;
    __syncthreads();
    float sum = 0;
    for (int i = 0; i < blockDim.x; ++i) sum += shared[i];
    __syncthreads();
    return sum;
}

extern "C" __global__ void barriers_inside(float* x) {
    __shared__ float shared[128];
    const float first = summed(x[threadIdx.x], shared);
    x[threadIdx.x] = first + summed(2 * x[threadIdx.x], shared);
}

extern "C" __global__ void printing(int n) {
    const int i = threadIdx.x;
    if (i < n) printf("%d %s %f %lld %c%%\n", i, "text", i * 0.5, (long long)i << 40, 'a' + i);
}

extern "C" __global__ void asserting(const int* x) {
    if (x[threadIdx.x] < 0) __assertfail("x[threadIdx.x] >= 0", "calls.cu", 1, "asserting", 1);
}

extern "C" __global__ void trapping(const int* x) {
    if (x[threadIdx.x] < 0) __trap();
}
