// Threads that wait for each other: lanes of a warp, warps of a block, blocks of a grid.

// -- lanes

extern "C" __global__ void lanes_take_a_lock(int* lock, int* plain_count, int* order) {
    while (atomicCAS(lock, 0, 1) != 0) {
    }
    __threadfence();
    const int taken = *(volatile int*)plain_count;
    order[taken] = threadIdx.x;
    *(volatile int*)plain_count = taken + 1;
    __threadfence();
    atomicExch(lock, 0);
}

extern "C" __global__ void lanes_wait_for_the_next(int* turn, int* out) {
    const int mine = blockDim.x - 1 - threadIdx.x;
    while (*(volatile int*)turn != mine) {
    }
    out[mine] = threadIdx.x;
    __threadfence();
    atomicAdd(turn, 1);
}

extern "C" __global__ void odd_lanes_answer_even(volatile int* boxes, int rounds) {
    volatile int* mine = boxes + threadIdx.x / 2 * 2;
    if (threadIdx.x % 2)
        for (int i = 1; i <= rounds; ++i) {
            while (mine[0] != i) {
            }
            mine[1] = i * i;
        }
    else
        for (int i = 1; i <= rounds; ++i) {
            mine[0] = i;
            while (mine[1] != i * i) {
            }
        }
}

// -- warps

extern "C" __global__ void warps_hand_on(int* out) {
    __shared__ volatile int stage;
    if (threadIdx.x == 0) stage = 0;
    __syncthreads();
    const int warp = threadIdx.x / 32, warps = blockDim.x / 32;
    if (threadIdx.x % 32 == 0) {
        while (stage != warps - 1 - warp) {
        }
        out[stage] = warp;
        __threadfence_block();
        stage = stage + 1;
    }
    __syncwarp();
    out[warps + threadIdx.x] = stage >= warps - warp;
}

extern "C" __global__ void ring_of_warps(int* out, int items) {
    __shared__ int slots[4];
    __shared__ volatile int written, read;
    if (threadIdx.x == 0) written = read = 0;
    __syncthreads();
    if (threadIdx.x == 0)
        for (int i = 0; i < items; ++i) {
            while (i - read >= 4) __nanosleep(20);
            *(volatile int*)&slots[i % 4] = 3 * i;
            __threadfence_block();
            written = i + 1;
        }
    if (threadIdx.x == 32)
        for (int i = 0; i < items; ++i) {
            while (written <= i) __nanosleep(20);
            out[i] = *(volatile int*)&slots[i % 4];
            read = i + 1;
        }
}

// -- blocks

__device__ void acquire_ticket(unsigned* lock) {
    const unsigned mine = atomicAdd(lock, 1);
    while (*(volatile unsigned*)(lock + 1) != mine) {
    }
    __threadfence();
}

__device__ void release_ticket(unsigned* lock) {
    __threadfence();
    *(volatile unsigned*)(lock + 1) = *(volatile unsigned*)(lock + 1) + 1;
}

extern "C" __global__ void ticket_lock(unsigned* lock, int* sum) {
    if (threadIdx.x == 0) {
        acquire_ticket(lock);
        *(volatile int*)sum = *(volatile int*)sum + blockIdx.x;
        release_ticket(lock);
    }
}

extern "C" __global__ void last_block_first(int* flag, int* out) {
    if (threadIdx.x == 0) {
        int seen;
        do {
            asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");
        } while (seen != gridDim.x - 1 - blockIdx.x);
        out[seen] = blockIdx.x;
        asm volatile("st.release.gpu.global.s32 [%0], %1;" ::"l"(flag), "r"(seen + 1) : "memory");
    }
}

__device__ void grid_barrier(unsigned* arrived, unsigned goal) {
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd(arrived, 1);
        while (*(volatile unsigned*)arrived < goal) {
        }
        __threadfence();
    }
    __syncthreads();
}

extern "C" __global__ void smooth(float* from, float* to, int n, int rounds, unsigned* arrived) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int round = 0; round < rounds; ++round) {
        const float left = __ldcg(&from[i > 0 ? i - 1 : 0]), right = __ldcg(&from[i < n - 1 ? i + 1 : n - 1]);
        __stcg(&to[i], 0.5f * (left + right));
        grid_barrier(arrived, gridDim.x * (round + 1));
        float* kept = from;
        from = to;
        to = kept;
    }
}

enum { INVALID = 0, PARTIAL = 1, INCLUSIVE = 2 };

// Prefix sums in one pass: Merrill and Garland, "Single-pass parallel prefix scan with decoupled look-back" (2016).
extern "C" __global__ void look_back(const int* in, int* out, unsigned long long* states, unsigned* next_tile) {
    __shared__ int tile, before, sums[256];
    if (threadIdx.x == 0) tile = atomicAdd(next_tile, 1);
    __syncthreads();
    const int i = tile * blockDim.x + threadIdx.x;
    int sum = in[i];
    sums[threadIdx.x] = sum;
    __syncthreads();
    for (int step = 1; step < blockDim.x; step *= 2) {
        const int other = threadIdx.x >= step ? sums[threadIdx.x - step] : 0;
        __syncthreads();
        sum += other;
        sums[threadIdx.x] = sum;
        __syncthreads();
    }
    if (threadIdx.x == blockDim.x - 1) {
        atomicExch(&states[tile], (unsigned long long)(tile ? PARTIAL : INCLUSIVE) << 32 | (unsigned)sum);
        int running = 0;
        for (int back = tile - 1; back >= 0;) {
            const unsigned long long state = *(volatile unsigned long long*)&states[back];
            if (state >> 32 == INVALID) continue;
            running += (int)(unsigned)state;
            if (state >> 32 == INCLUSIVE) break;
            --back;
        }
        before = running;
        atomicExch(&states[tile], (unsigned long long)INCLUSIVE << 32 | (unsigned)(running + sum));
    }
    __syncthreads();
    out[i] = before + sum;
}

// -- for nothing

extern "C" __global__ void nobody_comes(volatile int* flag) {
    if (threadIdx.x >= 40)
        while (*flag == 0) {
        }
    __syncthreads();  // of those that do not wait
}

extern "C" __global__ void for_ever() {
    if (threadIdx.x == 3)
        for (;;) {
        }
}

extern "C" __global__ void lock_twice(int* lock) {
    for (int i = 0; i < 2; ++i)
        while (atomicCAS(lock, 0, 1) != 0) __nanosleep(100);
}

extern "C" __global__ void until_late(volatile int* flag, int* out, int most) {
    int tries = 0;
    while (*flag == 0 && tries < most) ++tries;
    out[threadIdx.x] = tries;
}

extern "C" __global__ void until_the_clock(volatile int* flag, long long* out, long long most) {
    const long long start = clock64();
    while (*flag == 0 && clock64() - start < most) {
    }
    out[threadIdx.x] = clock64() - start >= most;
}

// -- loops that wait for nobody

extern "C" __global__ void tiled_product(const float* a, const float* b, float* c, int n) {
    __shared__ float left[16][16], right[16][16];
    const int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
    float sum = 0;
    for (int k = 0; k < n; k += 16) {
        left[y][x] = a[row * n + k + x];
        right[y][x] = b[(k + y) * n + column];
        __syncthreads();
        for (int i = 0; i < 16; ++i) sum += left[y][i] * right[i][x];
        __syncthreads();
    }
    c[row * n + column] = sum;
}

extern "C" __global__ void counted(volatile int* data, int n) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) data[i] = data[i] + 1;
}

extern "C" __global__ void nested(int* sums, const int* rows, int n) {
    for (int row = 0; row < n; ++row)
        for (int i = rows[row]; i < rows[row + 1]; ++i) atomicAdd(&sums[row], i);
}

extern "C" __global__ void first_match(const int* text, int* where, int n) {
    int i = 0;
    while (i < n && text[i] != threadIdx.x) ++i;
    where[threadIdx.x] = i;
}

extern "C" __global__ void halving(float* data) {
    __shared__ float sums[64];
    sums[threadIdx.x] = data[threadIdx.x];
    for (int step = 32; step > 0; step /= 2) {
        __syncthreads();
        if (threadIdx.x < step) sums[threadIdx.x] += sums[threadIdx.x + step];
    }
    if (threadIdx.x == 0) data[0] = sums[0];
}

extern "C" __global__ void next_item(int* next, int* out, int n) {
    for (int i = 0; i < n; ++i) out[atomicAdd(next, 1)] = i;
}
