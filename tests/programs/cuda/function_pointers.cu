// Calls through pointers: each thread picks its operation from a table of device functions, or its shape's virtual methods.
typedef int (*Operation)(int, int);

__device__ __noinline__ int add(int a, int b) { return a + b; }
__device__ __noinline__ int subtract(int a, int b) { return a - b; }
__device__ __noinline__ int multiply(int a, int b) { return a * b; }
__device__ __noinline__ int divide(int a, int b) { return b ? a / b : 0; }

__device__ const Operation OPERATIONS[] = {add, subtract, multiply, divide};

extern "C" __global__ void calculate(const int* operations, const int* a, const int* b, int* results, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) results[i] = OPERATIONS[operations[i]](a[i], b[i]);
}

struct Shape {
    __device__ virtual float area() const = 0;
    __device__ virtual float perimeter() const = 0;
};

struct Rectangle : Shape {
    float width, height;
    __device__ Rectangle(float width, float height) : width(width), height(height) {}
    __device__ float area() const override { return width * height; }
    __device__ float perimeter() const override { return 2 * (width + height); }
};

struct Square : Rectangle {
    __device__ explicit Square(float side) : Rectangle(side, side) {}
    __device__ float perimeter() const override { return 4 * width; }
};

struct Circle : Shape {
    float radius;
    __device__ explicit Circle(float radius) : radius(radius) {}
    __device__ float area() const override { return 3.14159265f * radius * radius; }
    __device__ float perimeter() const override { return 6.2831853f * radius; }
};

__device__ __noinline__ float2 measure(const Shape& shape) { return make_float2(shape.area(), shape.perimeter()); }

// Kind 0: rectangle of sides size and 2 size; 1: square; 2: circle.
extern "C" __global__ void measure_shapes(const int* kinds, const float* sizes, float2* measures, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const Rectangle rectangle(sizes[i], 2 * sizes[i]);
    const Square square(sizes[i]);
    const Circle circle(sizes[i]);
    const Shape* shapes[] = {&rectangle, &square, &circle};
    measures[i] = measure(*shapes[kinds[i]]);
}
