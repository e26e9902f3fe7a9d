// CRC-32 (IEEE 802.3) of byte strings, one a thread, from a table that the block makes in shared memory first.
extern "C" __global__ void crc32(const unsigned char* bytes, const long long* starts, unsigned* sums, int n) {
    __shared__ unsigned table[256];
    for (int byte = threadIdx.x; byte < 256; byte += blockDim.x) {
        unsigned entry = byte;
        for (int bit = 0; bit < 8; ++bit) entry = entry >> 1 ^ (entry & 1 ? 0xEDB88320u : 0);
        table[byte] = entry;
    }
    __syncthreads();
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned sum = ~0u;
    for (long long at = starts[i]; at < starts[i + 1]; ++at) sum = sum >> 8 ^ table[(sum ^ bytes[at]) & 255];
    sums[i] = ~sum;
}
