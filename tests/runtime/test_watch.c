// Conflicts by what happens before what: known cases, then random programs against clocks of every thread for every thread.
#include "expect.h"
#include "shadow.h"

int main(void);

enum { THREADS = 64, WARPS = 2, WORDS = 2, FLAGS = 2, SITES = 40, BYTES = 64 };
enum { DATA_END = 8, FLAG = 32 };  // words of data from 0 on, flags from FLAG on

struct setting {
    struct tw_context* context;
    struct tw_watch watch;
    struct tw_block block;
    struct tw_site sites[SITES];
    struct tw_conflict conflicts[1024];
    struct tw_unwritten unwritten[64];
    struct tw_short shorts[SITES];
    uint32_t passes[SITES], orders[SITES];
    uint8_t* shared;
    uint8_t* warps;
};

static const struct tw_site LOAD = {.space = TW_SHARED, .element_bytes = 4, .elements = 1, .traits = TW_READS};
static const struct tw_site STORE = {.space = TW_SHARED, .is_store = 1, .element_bytes = 4, .elements = 1, .traits = TW_WRITES};

static void set_up(struct setting* s) {
    memset(s, 0, sizeof *s);
    struct tw_context* context = s->context = make_context();
    s->shared = calloc(BYTES, 1);
    context->threads = THREADS;
    context->warp_count = WARPS;
    context->warp_bytes = 256;
    s->warps = calloc(WARPS, context->warp_bytes);
    s->block.warps = s->warps;
    context->block = &s->block;
    context->shared = s->shared;
    context->shared_bytes = BYTES;
    context->sites = s->sites;
    s->watch = (struct tw_watch){.conflicts = s->conflicts,
                                 .unwritten = s->unwritten,
                                 .conflict_capacity = COUNT_OF(s->conflicts),
                                 .unwritten_capacity = COUNT_OF(s->unwritten),
                                 .shorts = s->shorts,
                                 .passes = s->passes,
                                 .orders = s->orders,
                                 .site_count = SITES};
    context->watch = &s->watch;
    for (uint32_t i = 0; i < WARPS; ++i) tw_warp_at(context, i)->live = UINT32_MAX;
    tw_watch_start(context, &s->block);
}

static void tear_down(struct setting* s) {
    tw_watch_free(s->context, &s->block);
    free(s->warps);
    free(s->shared);
    free_context(s->context);
}

static void access_word(struct setting* s, uint32_t thread, uint32_t site, struct tw_site facts, uint32_t offset) {
    struct tw_place place = {.bytes = s->shared + offset, .space = TW_SHARED};
    s->sites[site] = facts;
    s->context->warp_index = thread / TW_LANES;
    tw_watch_instruction(s->context, site);
    tw_watch_lane(s->context, site, thread % TW_LANES, offset, &place);
}

static struct tw_site strong(struct tw_site facts) {
    facts.traits |= TW_STRONG;
    return facts;
}

static void all_wait(struct setting* s, uint32_t site) {
    s->sites[site] = (struct tw_site){.traits = site + 1};
    for (uint32_t i = 0; i < WARPS; ++i) {
        struct tw_warp* warp = tw_warp_at(s->context, i);
        s->context->warp_index = i;
        warp->counted = 1;
        warp->barrier = 0;
        warp->waiting = warp->live;
        warp->wait_site = site;
        tw_watch_arrival(s->context, 0, site, warp->live);
    }
    tw_watch_barrier(s->context, 0);
}

static void lanes_sync(struct setting* s, uint32_t warp, uint32_t lanes) {
    s->context->warp_index = warp;
    tw_warp_sync(s->context, tw_warp_at(s->context, warp), lanes, 0);
}

static void fence(struct setting* s, uint32_t thread) {
    s->context->warp_index = thread / TW_LANES;
    tw_fence(s->context, tw_warp_at(s->context, thread / TW_LANES), 1u << thread % TW_LANES, 0);
}

static void test_a_barrier_orders_what_stands_on_either_side(void) {
    struct setting s;
    set_up(&s);
    access_word(&s, 0, 0, STORE, 0);
    access_word(&s, 40, 1, LOAD, 0);
    EXPECT(s.watch.conflict_count == 1 && !s.conflicts[0].in_warp && !s.conflicts[0].needs_fence);
    all_wait(&s, 2);
    EXPECT(!s.orders[2] && s.passes[2] == 1);
    access_word(&s, 40, 3, STORE, 0);
    EXPECT(s.watch.conflict_count == 1 && s.orders[2]);
    tear_down(&s);
}

static void test_lanes_of_a_warp_need_a_syncwarp(void) {
    struct setting s;
    set_up(&s);
    access_word(&s, 0, 0, STORE, 0);
    access_word(&s, 1, 1, LOAD, 0);
    EXPECT(s.watch.conflict_count == 1 && s.conflicts[0].in_warp);
    lanes_sync(&s, 0, 0x5);
    access_word(&s, 2, 2, LOAD, 0);
    EXPECT(s.watch.conflict_count == 1);
    access_word(&s, 3, 3, LOAD, 0);  // not among those that came
    EXPECT(s.watch.conflict_count == 2);
    tear_down(&s);
}

static void test_a_flag_orders_with_a_fence_on_either_side(void) {
    for (uint32_t fences = 0; fences < 4; ++fences) {
        struct setting s;
        set_up(&s);
        access_word(&s, 5, 0, STORE, 0);
        if (fences & 1) fence(&s, 5);
        access_word(&s, 5, 1, strong(STORE), FLAG);
        access_word(&s, 50, 2, strong(LOAD), FLAG);
        if (fences & 2) fence(&s, 50);
        access_word(&s, 50, 3, LOAD, 0);
        EXPECT((s.watch.conflict_count == 0) == (fences == 3));
        if (fences != 3) EXPECT(s.conflicts[0].needs_fence);
        tear_down(&s);
    }
}

static void test_bytes_that_nobody_wrote_are_told_once_for_each_instruction(void) {
    struct setting s;
    set_up(&s);
    access_word(&s, 0, 0, STORE, 4);
    access_word(&s, 0, 1, LOAD, 4);
    EXPECT(!s.watch.unwritten_count);
    access_word(&s, 0, 2, LOAD, 8);
    access_word(&s, 1, 2, LOAD, 8);
    EXPECT(s.watch.unwritten_count == 1 && s.unwritten[0].count == 2 && s.unwritten[0].address == 8);
    tear_down(&s);
}

static void test_a_copy_is_under_way_until_its_thread_has_waited(void) {
    struct setting s;
    set_up(&s);
    s.sites[0] = (struct tw_site){.space = TW_GLOBAL, .traits = TW_WRITES | TW_COPIES};
    s.context->warp_index = 0;
    tw_watch_instruction(s.context, 0);
    tw_watch_copy(s.context, 0, 7, 0, 0, 16, 4);
    all_wait(&s, 1);
    access_word(&s, 7, 2, LOAD, 16);
    EXPECT(s.watch.conflict_count == 1 && s.conflicts[0].is_pending);
    s.context->warp_index = 0;
    tw_watch_copied(s.context, 0, 7, 16, 4);
    access_word(&s, 7, 3, LOAD, 16);  // its own
    EXPECT(s.watch.conflict_count == 1);
    access_word(&s, 40, 4, LOAD, 16);  // another's, with no barrier since
    EXPECT(s.watch.conflict_count == 2 && !s.conflicts[1].is_pending);
    tear_down(&s);
}

// -- random programs

// What each thread knows of each other's time, and what it will know behind a fence.
struct model {
    uint32_t knows[THREADS][THREADS], fenced[THREADS][THREADS], seen[THREADS][THREADS], flags[FLAGS][THREADS];
    struct {
        uint32_t thread, word, time, is_store;
    } done[SITES];
};

static void take(uint32_t* into, const uint32_t* from) {
    for (uint32_t i = 0; i < THREADS; ++i) into[i] = from[i] > into[i] ? from[i] : into[i];
}

static void model_sync(struct model* m, uint32_t first, uint32_t lanes, uint32_t count) {
    uint32_t all[THREADS] = {0};
    for (uint32_t i = 0; i < count; ++i)
        if (count > TW_LANES || lanes >> i & 1) take(all, m->knows[first + i]);
    for (uint32_t i = 0; i < count; ++i)
        if (count > TW_LANES || lanes >> i & 1) take(m->knows[first + i], all);
}

static int is_reported(const struct setting* s, uint32_t one, uint32_t other) {
    for (uint64_t i = 0; i < s->watch.conflict_count; ++i)
        if ((s->conflicts[i].sites[0] == one && s->conflicts[i].sites[1] == other) ||
            (s->conflicts[i].sites[0] == other && s->conflicts[i].sites[1] == one))
            return 1;
    return 0;
}

// One instruction, of a kind that the number chooses; each access has an instruction of its own.
static void step(struct setting* s, struct model* m, uint32_t site, uint64_t number) {
    const uint32_t thread = (uint32_t)(number >> 8) % 4 + 30;  // 30 and 31 of one warp, 32 and 33 of the other
    const uint32_t word = (uint32_t)(number >> 16) % WORDS, flag = (uint32_t)(number >> 20) % FLAGS;
    m->knows[thread][thread] += 1;
    m->done[site].thread = UINT32_MAX;
    switch (number % 8) {
        case 0:
            all_wait(s, site);
            for (uint32_t i = 0; i < THREADS; ++i) take(m->knows[i], m->seen[i]);
            model_sync(m, 0, 0, THREADS);
            break;
        case 1: {
            const uint32_t lanes = thread < TW_LANES ? 0xc0000000 : 0x3;
            lanes_sync(s, thread / TW_LANES, lanes);
            model_sync(m, thread / TW_LANES * TW_LANES, lanes, TW_LANES);
            break;
        }
        case 2:
            fence(s, thread);
            take(m->knows[thread], m->seen[thread]);
            memcpy(m->fenced[thread], m->knows[thread], sizeof m->fenced[thread]);
            break;
        case 3:
            access_word(s, thread, site, strong(STORE), FLAG + 4 * flag);
            memcpy(m->flags[flag], m->fenced[thread], sizeof m->flags[flag]);
            break;
        case 4:
            access_word(s, thread, site, strong(LOAD), FLAG + 4 * flag);
            take(m->seen[thread], m->flags[flag]);
            break;
        default: {
            const uint32_t is_store = number % 8 == 5;
            access_word(s, thread, site, is_store ? STORE : LOAD, 4 * word);
            m->done[site].thread = thread, m->done[site].word = word, m->done[site].is_store = is_store;
            m->done[site].time = m->knows[thread][thread];
            for (uint32_t i = 0; i < site; ++i) {
                if (m->done[i].thread == UINT32_MAX || m->done[i].thread == thread || m->done[i].word != word) continue;
                if (!is_store && !m->done[i].is_store) continue;
                const int is_ordered = m->knows[thread][m->done[i].thread] >= m->done[i].time;
                EXPECT(is_reported(s, i, site) == !is_ordered);
            }
        }
    }
}

static void test_random_programs_have_the_conflicts_that_clocks_of_all_threads_give(void) {
    uint64_t seed = 20240117;
    for (uint32_t program = 0; program < 20000; ++program) {
        struct setting s;
        struct model* model = calloc(1, sizeof *model);
        set_up(&s);
        const uint64_t first = next_random(&seed);
        uint64_t numbers = first | 1;
        for (uint32_t site = 0; site < 28; ++site) step(&s, model, site, next_random(&numbers) >> 7);
        tear_down(&s);
        free(model);
    }
}

int main(void) {
    test_a_barrier_orders_what_stands_on_either_side();
    test_lanes_of_a_warp_need_a_syncwarp();
    test_a_flag_orders_with_a_fence_on_either_side();
    test_bytes_that_nobody_wrote_are_told_once_for_each_instruction();
    test_a_copy_is_under_way_until_its_thread_has_waited();
    test_random_programs_have_the_conflicts_that_clocks_of_all_threads_give();
    return failures != 0;
}
