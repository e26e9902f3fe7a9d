// N-body: every thread adds up the pull of all bodies on its own; a tile of bodies is staged in shared memory and used by the whole block.
constexpr int TILE = 96;  // threads a block
constexpr float SOFTENING = 1e-3f;

__device__ float3 pull(float3 total, float4 on, float4 from) {
    const float dx = from.x - on.x, dy = from.y - on.y, dz = from.z - on.z;
    const float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + SOFTENING);
    const float strength = from.w * inverse * inverse * inverse;
    return make_float3(total.x + strength * dx, total.y + strength * dy, total.z + strength * dz);
}

// Bodies are x, y, z, mass.
extern "C" __global__ void __launch_bounds__(TILE) accelerate(const float4* bodies, float3* accelerations, int n) {
    __shared__ float4 tile[TILE];
    const int i = blockIdx.x * TILE + threadIdx.x;
    const float4 own = i < n ? bodies[i] : make_float4(0, 0, 0, 0);
    float3 total = make_float3(0, 0, 0);
    for (int start = 0; start < n; start += TILE) {
        const int j = start + threadIdx.x;
        tile[threadIdx.x] = j < n ? bodies[j] : make_float4(0, 0, 0, 0);
        __syncthreads();
        for (int k = 0; k < TILE; ++k) total = pull(total, own, tile[k]);
        __syncthreads();
    }
    if (i < n) accelerations[i] = total;
}
