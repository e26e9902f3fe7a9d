// Bounds and alignment, access by access. Buffers have exactly their size on the heap, where the sanitizer watches both ends.
#include "expect.h"

enum { LOW = 0x7000, SIZE = 64 };

struct setting {
    struct tw_context* context;
    struct tw_site site;
    struct tw_site_counts counts[3];  // a generic access counts in the row of each space
    struct tw_buffer buffers[3];
    struct tw_range ranges[1];
    struct tw_block block;
    struct tw_warp* warp;
    uint8_t *bytes, *shared;
};

// Three buffers: 64 bytes at LOW, an empty one, 64 that may not be written; 32 bytes of shared memory.
static void set_up(struct setting* s) {
    memset(s, 0, sizeof *s);
    s->context = make_context();
    s->bytes = calloc(SIZE, 1);
    s->shared = calloc(32, 1);
    s->warp = calloc(1, sizeof *s->warp);
    s->buffers[0] =
        (struct tw_buffer){.low = LOW, .high = LOW + SIZE, .delta = (uint64_t)(uintptr_t)s->bytes - LOW, .space = TW_GLOBAL, .writable = 1};
    s->buffers[1] = (struct tw_buffer){.low = 2 * LOW, .high = 2 * LOW, .delta = 0, .space = TW_GLOBAL, .writable = 1};
    s->buffers[2] = (struct tw_buffer){
        .low = 3 * LOW, .high = 3 * LOW + SIZE, .delta = (uint64_t)(uintptr_t)s->bytes - 3 * LOW, .space = TW_GLOBAL, .writable = 0};
    s->context->buffers = s->buffers;
    s->context->buffer_count = 3;
    s->context->sites = &s->site;
    s->context->site_counts = s->counts;
    s->context->ranges = s->ranges;
    s->context->shared = s->shared;
    s->context->shared_bytes = 32;
    s->context->block = &s->block;
}

static void tear_down(struct setting* s) {
    free(s->bytes);
    free(s->shared);
    free(s->warp);
    free_context(s->context);
}

// Lane 3 alone accesses; returns the kind of fault, or -1.
static int access_one(struct setting* s, enum tw_space space, uint32_t is_store, uint32_t bytes, uint64_t address) {
    s->site = (struct tw_site){
        .space = space, .is_store = is_store, .element_bytes = bytes < 8 ? bytes : 4, .elements = bytes < 8 ? 1 : bytes / 4};
    s->context->fault_count = 0;
    s->context->addresses[3] = address;
    memset(s->context->values, 0x5a, sizeof s->context->values);
    tw_access(s->context, s->warp, 0, 1u << 3, 0);
    if (!s->context->fault_count) return -1;
    EXPECT(s->context->fault_count == 1 && s->context->faults[0].lane == 3 && s->context->faults[0].address == address);
    return (int)s->context->faults[0].kind;
}

static void test_first_and_last_bytes_are_inside_and_their_neighbours_are_not(void) {
    struct setting s;
    set_up(&s);
    for (uint32_t bytes = 1; bytes <= 16; bytes *= 2)
        for (uint32_t is_store = 0; is_store < 2; ++is_store) {
            EXPECT(access_one(&s, TW_GLOBAL, is_store, bytes, LOW) == -1);
            EXPECT(access_one(&s, TW_GLOBAL, is_store, bytes, LOW + SIZE - bytes) == -1);
            EXPECT(access_one(&s, TW_GLOBAL, is_store, bytes, LOW - bytes) == TW_OUT_OF_BOUNDS);
            EXPECT(access_one(&s, TW_GLOBAL, is_store, bytes, LOW + SIZE) == TW_OUT_OF_BOUNDS);
            EXPECT(access_one(&s, TW_SHARED, is_store, bytes, 0) == -1);
            EXPECT(access_one(&s, TW_SHARED, is_store, bytes, 32 - bytes) == -1);
            EXPECT(access_one(&s, TW_SHARED, is_store, bytes, 32) == TW_OUT_OF_BOUNDS);
            EXPECT(access_one(&s, TW_SHARED, is_store, bytes, UINT32_MAX - bytes + 1) == TW_OUT_OF_BOUNDS);
        }
    tear_down(&s);
}

static void test_odd_sizes_end_where_they_end(void) {
    struct setting s;
    set_up(&s);
    s.buffers[0].high -= 4;  // 60 bytes: the last 16, and 8, cross the end
    EXPECT(access_one(&s, TW_GLOBAL, 1, 16, LOW + 48) == TW_OUT_OF_BOUNDS);
    EXPECT(access_one(&s, TW_GLOBAL, 1, 8, LOW + 56) == TW_OUT_OF_BOUNDS);
    EXPECT(access_one(&s, TW_GLOBAL, 1, 4, LOW + 56) == -1);
    for (int i = 48; i < 56; ++i) EXPECT(s.bytes[i] == 0);  // nothing was done in part
    tear_down(&s);
}

static void test_far_addresses(void) {
    static const uint64_t far[] = {0, 2 * LOW, UINT64_MAX, UINT64_MAX - 15, 1ull << 63, (1ull << 63) + LOW, LOW + (1ull << 32)};
    struct setting s;
    set_up(&s);
    for (uint32_t i = 0; i < COUNT_OF(far); ++i) {
        EXPECT(access_one(&s, TW_GLOBAL, 0, 1, far[i]) == TW_OUT_OF_BOUNDS);
        EXPECT(access_one(&s, TW_GLOBAL, 1, 1, far[i]) == TW_OUT_OF_BOUNDS);
        EXPECT(!tw_resolve(s.context, 0, far[i], 1, 0, 0));
        EXPECT(!tw_resolve(s.context, 0, far[i], UINT64_MAX, 0, 1));
    }
    tear_down(&s);
}

static void test_kinds_of_faults(void) {
    struct setting s;
    set_up(&s);
    EXPECT(access_one(&s, TW_GLOBAL, 0, 4, LOW + 2) == TW_MISALIGNED);
    EXPECT(access_one(&s, TW_SHARED, 1, 16, 8) == TW_MISALIGNED);
    EXPECT(access_one(&s, TW_GLOBAL, 0, 4, 3 * LOW) == -1);
    EXPECT(access_one(&s, TW_GLOBAL, 1, 4, 3 * LOW) == TW_READ_ONLY);
    EXPECT(access_one(&s, TW_GLOBAL, 0, 4, TW_SHARED_WINDOW) == TW_OUT_OF_BOUNDS);
    EXPECT(access_one(&s, TW_GENERIC, 0, 4, TW_SHARED_WINDOW) == -1);
    EXPECT(access_one(&s, TW_GENERIC, 0, 4, TW_SHARED_WINDOW + 32) == TW_OUT_OF_BOUNDS);
    EXPECT(access_one(&s, TW_GENERIC, 0, 4, TW_LOCAL_WINDOW) == TW_OUT_OF_BOUNDS);  // there is none
    EXPECT(access_one(&s, TW_GENERIC, 1, 4, LOW) == -1);
    tear_down(&s);
}

static void test_a_bad_load_gives_zero_and_the_other_lanes_theirs(void) {
    struct setting s;
    set_up(&s);
    for (int i = 0; i < SIZE; ++i) s.bytes[i] = (uint8_t)(i + 1);
    s.site = (struct tw_site){.space = TW_GLOBAL, .element_bytes = 1, .elements = 2};
    for (uint32_t lane = 0; lane < TW_LANES; ++lane) s.context->addresses[lane] = LOW + 2 * lane + (lane == 9 ? 1u << 20 : 0);
    memset(s.context->values, 0x5a, sizeof s.context->values);
    tw_access(s.context, s.warp, 0, UINT32_MAX & ~(1u << 4), 0);
    for (uint32_t lane = 0; lane < TW_LANES; ++lane)
        for (uint32_t element = 0; element < 2; ++element) {
            const uint8_t value = s.context->values[element * TW_LANES + lane];
            EXPECT(value == (lane == 4 ? 0x5a : lane == 9 ? 0 : (uint8_t)(2 * lane + element + 1)));
        }
    EXPECT(s.context->fault_count == 1 && s.context->faults[0].count == 1);
    EXPECT(s.counts[0].requests == 1 && s.counts[0].lanes == 31);
    tear_down(&s);
}

static void test_a_range_holds_exactly_the_starts_that_are_inside(void) {
    struct setting s;
    set_up(&s);
    for (uint64_t extent = 1; extent <= SIZE; ++extent) {
        EXPECT(tw_resolve(s.context, 0, LOW, extent, 1, 0));
        EXPECT(s.ranges[0].low == LOW && s.ranges[0].starts == SIZE - extent + 1);
        EXPECT(tw_resolve(s.context, 0, LOW + SIZE - extent, extent, 1, 0));
        EXPECT(!tw_resolve(s.context, 0, LOW + SIZE - extent + 1, extent, 1, 0));
    }
    EXPECT(!tw_resolve(s.context, 0, LOW, SIZE + 1, 0, 0));
    EXPECT(!tw_resolve(s.context, 0, 3 * LOW, 4, 1, 0) && tw_resolve(s.context, 0, 3 * LOW, 4, 0, 0));
    tear_down(&s);
}

static void test_faults_past_the_room_are_counted(void) {
    struct setting s;
    set_up(&s);
    for (uint32_t site = 0; site < FAULTS + 3; ++site)
        for (uint32_t times = 0; times < 2; ++times) tw_report(s.context, s.warp, TW_MISALIGNED, site, 0, 0);
    EXPECT(s.context->fault_count == FAULTS && s.context->faults_lost == 6);
    for (uint32_t i = 0; i < FAULTS; ++i) EXPECT(s.context->faults[i].count == 2);
    tear_down(&s);
}

int main(void) {
    test_first_and_last_bytes_are_inside_and_their_neighbours_are_not();
    test_odd_sizes_end_where_they_end();
    test_far_addresses();
    test_kinds_of_faults();
    test_a_bad_load_gives_zero_and_the_other_lanes_theirs();
    test_a_range_holds_exactly_the_starts_that_are_inside();
    test_faults_past_the_room_are_counted();
    return failures != 0;
}
