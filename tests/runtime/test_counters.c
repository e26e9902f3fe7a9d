// Sectors and wavefronts of single requests, against counting bytes one by one.
#include "expect.h"

static uint32_t sectors_by_bytes(const uint64_t* addresses, uint32_t mask, uint32_t bytes) {
    uint64_t seen[TW_LANES * 64];
    uint32_t count = 0;
    for (uint32_t lane = 0; lane < TW_LANES; ++lane)
        for (uint64_t byte = 0; (mask >> lane & 1) && byte < bytes; ++byte) {
            const uint64_t sector = (addresses[lane] + byte) / 32;
            uint32_t i = 0;
            while (i < count && seen[i] != sector) ++i;
            if (i == count) seen[count++] = sector;
        }
    return count;
}

static void test_sectors_of_any_addresses(void) {
    static const uint64_t spans[] = {1, 8, 40, 256, 4096, 1u << 20};
    uint64_t seed = 88172645463325252u;
    for (int round = 0; round < 20000; ++round) {
        uint64_t addresses[TW_LANES];
        const uint64_t span = spans[next_random(&seed) % COUNT_OF(spans)], base = next_random(&seed) % (1ull << 47);
        for (int lane = 0; lane < TW_LANES; ++lane) addresses[lane] = base + next_random(&seed) % span;
        const uint32_t bytes = 1u << next_random(&seed) % 6;
        const uint32_t mask = round % 3 ? (uint32_t)next_random(&seed) : UINT32_MAX;
        EXPECT(tw_count_sectors(addresses, mask, bytes) == sectors_by_bytes(addresses, mask, bytes));
    }
}

static void test_sectors_of_lanes_in_order(void) {
    for (uint32_t bytes = 1; bytes <= 32; bytes *= 2)
        for (uint64_t stride = 0; stride <= 80; ++stride)
            for (uint64_t start = 0; start < 32; ++start) {
                uint64_t addresses[TW_LANES];
                for (uint32_t lane = 0; lane < TW_LANES; ++lane) addresses[lane] = start + stride * lane;
                EXPECT(tw_count_sectors(addresses, UINT32_MAX, bytes) == sectors_by_bytes(addresses, UINT32_MAX, bytes));
                EXPECT(tw_count_sectors(addresses, 0x80000001, bytes) == sectors_by_bytes(addresses, 0x80000001, bytes));
            }
}

// One request of `bytes` a lane to shared memory.
static struct tw_site_counts count_shared(const uint64_t* addresses, uint32_t mask, uint32_t bytes, uint32_t is_store) {
    struct tw_context* context = make_context();
    const struct tw_site site = {
        .space = TW_SHARED, .is_store = is_store, .element_bytes = bytes < 8 ? bytes : 4, .elements = bytes < 8 ? 1 : bytes / 4};
    struct tw_site_counts counts = {0};
    context->sites = &site;
    context->site_counts = &counts;
    memcpy(context->addresses, addresses, sizeof context->addresses);
    tw_count(context, 0, mask);
    free_context(context);
    return counts;
}

// lane -> address, wavefronts of loads and of stores; from the definition in hw/banks.py, worked out by hand.
static void test_wavefronts_of_known_patterns(void) {
    static const struct {
        uint32_t bytes, stride, swap, load, store, ways;
    } known[] = {
        {4, 4, 0, 1, 1, 1},       // words in order
        {4, 8, 0, 2, 2, 2},       // every second bank
        {4, 128, 0, 32, 32, 32},  // one bank
        {4, 132, 0, 1, 1, 1},     // padded rows
        {4, 0, 0, 1, 1, 1},       // one word
        {1, 1, 0, 1, 1, 1},       // bytes
        {8, 8, 0, 2, 2, 1},       // half a warp at a time
        {8, 16, 0, 4, 4, 2},      // every second pair of banks
        {8, 0, 0, 1, 2, 1},       // one address: loads are served together
        {16, 16, 0, 4, 4, 1},     // a quarter at a time
        {16, 0, 0, 2, 4, 1},      // as Nsight Compute counts on an H200
        {16, 16, 1, 2, 4, 1},     // pairs of lanes that agree
    };
    for (uint32_t i = 0; i < COUNT_OF(known); ++i) {
        uint64_t addresses[TW_LANES];
        for (uint32_t lane = 0; lane < TW_LANES; ++lane) addresses[lane] = (uint64_t)known[i].stride * (known[i].swap ? lane / 2 : lane);
        const struct tw_site_counts load = count_shared(addresses, UINT32_MAX, known[i].bytes, 0);
        const struct tw_site_counts store = count_shared(addresses, UINT32_MAX, known[i].bytes, 1);
        EXPECT(load.transactions == known[i].load);
        EXPECT(store.transactions == known[i].store);
        EXPECT(load.worst_ways == known[i].ways);
        EXPECT(load.lanes == 32 && load.requests == 1 && load.worst == load.transactions);
    }
}

// A misaligned access is counted before it is reported: whatever the lanes, no table may be too small.
static void test_misaligned_requests_stay_within_their_tables(void) {
    uint64_t seed = 1234567;
    for (int round = 0; round < 20000; ++round) {
        uint64_t addresses[TW_LANES];
        const uint64_t step = next_random(&seed) % 200, together = next_random(&seed) % 4;
        for (uint32_t lane = 0; lane < TW_LANES; ++lane)
            addresses[lane] = step * (lane & ~together) + next_random(&seed) % (round % 2 ? 4 : 1) + 1;
        for (uint32_t bytes = 1; bytes <= 16; bytes *= 2) {
            const uint32_t mask = round % 3 ? (uint32_t)next_random(&seed) : UINT32_MAX;
            EXPECT(count_shared(addresses, mask, bytes, 0).requests == (mask != 0));
            EXPECT(tw_count_sectors(addresses, mask, 2 * bytes) <= 2 * TW_LANES);
        }
    }
}

static void test_requests_at_the_end_of_the_address_space(void) {
    uint64_t addresses[TW_LANES];
    for (uint32_t lane = 0; lane < TW_LANES; ++lane) addresses[lane] = UINT64_MAX - lane % 2;
    EXPECT(tw_count_sectors(addresses, UINT32_MAX, 1) == 1);
    tw_count_sectors(addresses, UINT32_MAX, 16);  // wraps: any count, but it ends
    EXPECT(tw_count_sectors(addresses, 0, 4) == 0);
}

int main(void) {
    test_sectors_of_any_addresses();
    test_sectors_of_lanes_in_order();
    test_wavefronts_of_known_patterns();
    test_misaligned_requests_stay_within_their_tables();
    test_requests_at_the_end_of_the_address_space();
    return failures != 0;
}
