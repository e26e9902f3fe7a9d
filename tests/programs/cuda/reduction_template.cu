// A reduction as a template over type, operation and items a thread, in a namespace: its symbols are mangled names.
namespace reduction {

struct Sum {
    template <typename T>
    __device__ static T apply(T a, T b) {
        return a + b;
    }
};

struct Greatest {
    template <typename T>
    __device__ static T apply(T a, T b) {
        return a < b ? b : a;
    }
};

// One result a block, of a share of at most blockDim.x * ITEMS values; the threads of a block are any number.
template <typename T, typename Operation, int ITEMS>
__global__ void reduce(const T* in, T* out, int n) {
    extern __shared__ char memory[];
    T* partial = reinterpret_cast<T*>(memory);
    const int first = blockIdx.x * blockDim.x * ITEMS + threadIdx.x;
    T own = in[min(first, n - 1)];
    for (int i = 1; i < ITEMS; ++i)
        if (first + i * blockDim.x < n) own = Operation::apply(own, in[first + i * blockDim.x]);
    partial[threadIdx.x] = own;
    __syncthreads();
    const int share = min((int)blockDim.x, n - (int)(blockIdx.x * blockDim.x * ITEMS));
    for (int left = share; left > 1; left = (left + 1) / 2) {
        if (threadIdx.x < left / 2) partial[threadIdx.x] = Operation::apply(partial[threadIdx.x], partial[threadIdx.x + (left + 1) / 2]);
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = partial[0];
}

template __global__ void reduce<double, Sum, 4>(const double*, double*, int);
template __global__ void reduce<short, Greatest, 1>(const short*, short*, int);
template __global__ void reduce<unsigned long long, Sum, 3>(const unsigned long long*, unsigned long long*, int);

}  // namespace reduction
