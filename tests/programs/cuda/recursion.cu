// Recursive device functions: Ackermann's with a depth limit, and quicksort of a segment a thread, which falls back to insertion sort when
// it gets too deep.
__device__ int ackermann(int m, int n, int depth, int limit, int* deepest) {
    if (depth > *deepest) *deepest = depth;
    if (depth > limit) return -1;
    if (m == 0) return n + 1;
    if (n == 0) return ackermann(m - 1, 1, depth + 1, limit, deepest);
    const int inner = ackermann(m, n - 1, depth + 1, limit, deepest);
    return inner < 0 ? -1 : ackermann(m - 1, inner, depth + 1, limit, deepest);
}

// Thread i: Ackermann of m[i] and n[i], or -1 past the limit, and the deepest call.
extern "C" __global__ void ackermanns(const int* m, const int* n, int* results, int* depths, int limit, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    int deepest = 0;
    results[i] = ackermann(m[i], n[i], 0, limit, &deepest);
    depths[i] = deepest;
}

__device__ void insertion_sort(int* items, int count) {
    for (int i = 1; i < count; ++i) {
        const int item = items[i];
        int at = i;
        for (; at > 0 && items[at - 1] > item; --at) items[at] = items[at - 1];
        items[at] = item;
    }
}

__device__ void quicksort(int* items, int count, int depth) {
    if (count < 2) return;
    if (depth == 0) {
        insertion_sort(items, count);
        return;
    }
    const int pivot = items[count / 2];
    int low = 0, high = count - 1;
    while (low <= high) {
        while (items[low] < pivot) ++low;
        while (items[high] > pivot) --high;
        if (low > high) break;
        const int kept = items[low];
        items[low++] = items[high];
        items[high--] = kept;
    }
    quicksort(items, high + 1, depth - 1);
    quicksort(items + low, count - low, depth - 1);
}

// Thread i sorts items[starts[i]] up to items[starts[i + 1]].
extern "C" __global__ void sort_segments(int* items, const int* starts, int segments, int depth) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < segments) quicksort(items + starts[i], starts[i + 1] - starts[i], depth);
}
