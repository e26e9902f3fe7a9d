// C = A B + beta C in place: each thread reads the one element of C that it writes.
// tilewise: --grid 2,4 --block 32,4 --arg a=f32[16,24]:normal --arg b=f32[24,64]:normal --arg c=f32[16,64]:normal --arg beta=0.5
extern "C" __global__ void update(const float* a, const float* b, float* c, float beta) {
    const int row = blockIdx.y * 4 + threadIdx.y, column = blockIdx.x * 32 + threadIdx.x;
    float sum = 0.0f;
    for (int k = 0; k < 24; ++k) sum += a[row * 24 + k] * b[k * 64 + column];
    // broken: const float before = c[row * 64 + (column ^ 32)];
    const float before = c[row * 64 + column];
    c[row * 64 + column] = sum + beta * before;
}
