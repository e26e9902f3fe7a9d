// printf from the device, by some lanes only: integers of both widths, floats, strings, characters, widths and a percent sign.
extern "C" __global__ void report(const int* values, const double* weights, long long base, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n || values[i] % 3) return;
    const char* kind = values[i] < 0 ? "negative" : "positive";
    printf("%d: %5d %-6d|%08x %s %c %.3f %e %lld 100%%\n", i, values[i], values[i], values[i], kind, 'a' + i % 26, weights[i], weights[i],
           base + i);
    if (values[i] == 0) printf("nothing to add\n");
}
