// One level of a breadth-first search: a thread a vertex of the frontier claims unseen neighbours by compare-and-swap and appends them to
// the next frontier, a queue whose end moves by atomics.
constexpr int UNSEEN = -1;

extern "C" __global__ void expand(const int* row_starts, const int* neighbours, const int* frontier, int size, int* levels, int level,
                                  int* next, int* next_size) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= size) return;
    const int vertex = frontier[i];
    for (int edge = row_starts[vertex]; edge < row_starts[vertex + 1]; ++edge) {
        const int neighbour = neighbours[edge];
        if (atomicCAS(&levels[neighbour], UNSEEN, level) == UNSEEN) next[atomicAdd(next_size, 1)] = neighbour;
    }
}
