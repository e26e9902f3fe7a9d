// Blocks, warps and barriers with kernels written in C: who runs when, who waits for whom, what ends a run.
#include <pthread.h>

#include "expect.h"

// What the library exports.
uint32_t tw_run(struct tw_context*);
void tw_free(struct tw_context*);

enum { WORDS = 1, BLOCKS = 4 };  // basic blocks of the kernels here: 0 to 3

static const uint64_t HEADS = 0xf;

// What the kernels here leave behind; one launch at a time, on one or more host threads.
static struct {
    uint32_t runs[64];  // of each block of the grid
    uint32_t fast, careful;
    uint32_t lanes;  // that ran lane by lane
    uint32_t order[64], steps;
} seen;

static struct tw_context* make_launch(uint64_t blocks, uint64_t threads, tw_kernel* fast, tw_kernel* careful) {
    struct tw_context* context = make_context();
    static volatile int32_t never;
    context->stop = &never;
    context->fast = fast;
    context->careful = careful;
    context->heads = &HEADS;
    context->words = WORDS;
    context->blocks = BLOCKS;
    context->threads = threads;
    context->warp_count = (threads + TW_LANES - 1) / TW_LANES;
    context->warp_bytes = (sizeof(struct tw_warp) + 3 * 8 * WORDS + 4 * BLOCKS + 63) / 64 * 64;
    context->resident_count = 1;
    context->next_block = calloc(1, sizeof *context->next_block);
    context->ranges = calloc(1, sizeof *context->ranges);
    context->last_block = blocks;
    context->chunk = 3;
    context->nctaid[0] = 4;
    context->nctaid[1] = context->nctaid[2] = 100;
    memset(&seen, 0, sizeof seen);
    return context;
}

static void free_launch(struct tw_context* context) {
    free(context->next_block);
    free(context->ranges);
    free_context(context);
}

static uint32_t run(struct tw_context* context) {
    const uint32_t status = tw_run(context);
    tw_free(context);
    return status;
}

static uint64_t block_number(const struct tw_context* context) {
    return context->ctaid[0] + context->nctaid[0] * (context->ctaid[1] + (uint64_t)context->nctaid[1] * context->ctaid[2]);
}

// -- each block once

static uint32_t leave_at_once(struct tw_context* context, struct tw_warp* warp) {
    if (context->warp_index == 0) __atomic_fetch_add(&seen.runs[block_number(context)], 1, __ATOMIC_RELAXED);
    EXPECT(warp->resume == context->entry && warp->live == UINT32_MAX);
    return TW_EXITED;
}

static void test_every_block_runs_once(void) {
    for (uint64_t blocks = 1; blocks <= 64; ++blocks) {
        struct tw_context* context = make_launch(blocks, 64, leave_at_once, 0);
        EXPECT(run(context) == TW_EXITED);
        for (uint64_t i = 0; i < 64; ++i) EXPECT(seen.runs[i] == (i < blocks));
        free_launch(context);
    }
}

static void test_chosen_blocks_run_and_no_other(void) {
    static const uint64_t chosen[] = {5, 3, 60};
    struct tw_context* context = make_launch(COUNT_OF(chosen), 32, leave_at_once, 0);
    context->chosen = chosen;
    EXPECT(run(context) == TW_EXITED);
    for (uint64_t i = 0; i < 64; ++i) EXPECT(seen.runs[i] == (i == 5 || i == 3 || i == 60));
    free_launch(context);
}

static void* run_on_thread(void* context) {
    EXPECT(run(context) == TW_EXITED);
    return 0;
}

static void test_host_threads_share_the_blocks(void) {
    struct tw_context* contexts[4];
    pthread_t threads[4];
    for (int i = 0; i < 4; ++i) contexts[i] = make_launch(64, 32, leave_at_once, 0);
    for (int i = 1; i < 4; ++i) {
        free(contexts[i]->next_block);
        contexts[i]->next_block = contexts[0]->next_block;
    }
    for (int i = 0; i < 4; ++i) pthread_create(&threads[i], 0, run_on_thread, contexts[i]);
    for (int i = 0; i < 4; ++i) pthread_join(threads[i], 0);
    for (int i = 0; i < 64; ++i) EXPECT(seen.runs[i] == 1);
    for (int i = 3; i >= 0; --i) {
        if (i) contexts[i]->next_block = 0;
        free_launch(contexts[i]);
    }
}

static volatile int32_t stop;

static uint32_t ask_to_stop(struct tw_context* context, struct tw_warp* warp) {
    (void)warp;
    if (block_number(context) == 7) stop = 1;
    return leave_at_once(context, warp);
}

static void test_a_stop_is_seen_before_the_next_block(void) {
    struct tw_context* context = make_launch(64, 32, ask_to_stop, 0);
    stop = 0;
    context->stop = &stop;
    EXPECT(run(context) == TW_STOPPED);
    for (int i = 0; i < 64; ++i) EXPECT(seen.runs[i] == (i <= 7));
    free_launch(context);
}

// -- lanes

// Full warps end in the fast function; others never see it.
static uint32_t end_fast(struct tw_context* context, struct tw_warp* warp) {
    EXPECT(warp->live == UINT32_MAX);
    (void)context;
    ++seen.fast;
    return TW_EXITED;
}

static uint32_t end_careful(struct tw_context* context, struct tw_warp* warp) {
    for (;;) {
        const int32_t block = tw_next(context, warp);
        if (block < 0) return (uint32_t)-block;
        ++seen.careful;
        seen.lanes += (uint32_t)__builtin_popcount(warp->mask);
        warp->live &= ~warp->mask;
    }
}

static void test_a_warp_with_fewer_threads_runs_lane_by_lane(void) {
    for (uint64_t threads = 1; threads <= 130; ++threads) {
        struct tw_context* context = make_launch(2, threads, end_fast, end_careful);
        EXPECT(run(context) == TW_EXITED);
        EXPECT(seen.fast == 2 * (threads / 32) && seen.careful == (threads % 32 ? 2 : 0) && seen.lanes == 2 * (threads % 32));
        free_launch(context);
    }
}

// Lanes part three ways from block 0; 1 and 2 lead to 3, where all are together again.
static uint32_t part(struct tw_context* context, struct tw_warp* warp) {
    if (warp->resume == 3) {
        ++seen.fast;
        return TW_EXITED;
    }
    tw_make_pending(context, warp, 3, 0x000000ff);
    tw_make_pending(context, warp, 1, 0x0000ff00);
    tw_make_pending(context, warp, 2, 0xffff0000);
    return TW_DIVERGED;
}

static uint32_t meet_at_3(struct tw_context* context, struct tw_warp* warp) {
    for (;;) {
        const int32_t block = tw_next(context, warp);
        if (block < 0) return (uint32_t)-block;
        seen.order[seen.steps++] = (uint32_t)block << 16 | (uint32_t)__builtin_popcount(warp->mask);
        EXPECT(block < 3);
        tw_make_pending(context, warp, block == 1 ? 2 : 3, warp->mask);
    }
}

static void test_the_first_block_in_order_runs_with_all_lanes_there(void) {
    struct tw_context* context = make_launch(1, 32, part, meet_at_3);
    EXPECT(run(context) == TW_EXITED);
    EXPECT(seen.steps == 2 && seen.order[0] == (1 << 16 | 8) && seen.order[1] == (2 << 16 | 24));
    EXPECT(seen.fast == 1);  // together at 3
    free_launch(context);
}

// A check fails in block 2, which then has to run lane by lane though all lanes are together.
static uint32_t bail_at_2(struct tw_context* context, struct tw_warp* warp) {
    (void)context;
    ++seen.fast;
    if (warp->resume == 3) return TW_EXITED;
    warp->resume = 2;
    return TW_TO_CAREFUL;
}

static uint32_t step_to_3(struct tw_context* context, struct tw_warp* warp) {
    for (;;) {
        const int32_t block = tw_next(context, warp);
        if (block < 0) return (uint32_t)-block;
        EXPECT(block == 2 && warp->mask == UINT32_MAX);
        ++seen.careful;
        tw_make_pending(context, warp, 3, warp->mask);
    }
}

static void test_a_block_that_bailed_runs_lane_by_lane_once(void) {
    struct tw_context* context = make_launch(1, 32, bail_at_2, step_to_3);
    EXPECT(run(context) == TW_EXITED);
    EXPECT(seen.fast == 2 && seen.careful == 1);
    free_launch(context);
}

// -- barriers

enum { ROUNDS = 3, WARPS = 5 };

// Each warp comes to a barrier ROUNDS times; warp w leaves the kernel w rounds early.
static uint32_t rounds_of(uint32_t warp) { return warp < ROUNDS ? ROUNDS - warp : 0; }

static uint32_t take_turns(struct tw_context* context, struct tw_warp* warp) {
    const uint32_t index = context->warp_index, round = warp->resume;
    for (uint32_t other = 0; other < WARPS; ++other)  // all that are left have done the rounds before this one
        EXPECT(seen.order[other] >= (round < rounds_of(other) ? round : rounds_of(other)));
    if (round == rounds_of(index)) return TW_EXITED;
    seen.order[index] += 1;
    warp->resume += 1;
    warp->barrier = 2;
    warp->threads = 0;
    return TW_AT_BARRIER;
}

static void test_a_barrier_waits_for_the_warps_that_are_left(void) {
    struct tw_context* context = make_launch(1, 32 * WARPS, take_turns, 0);
    EXPECT(run(context) == TW_EXITED);
    EXPECT(context->barriers == ROUNDS && context->fault_count == 0);
    EXPECT(seen.order[0] == 3 && seen.order[1] == 2 && seen.order[2] == 1 && seen.order[3] == 0);
    free_launch(context);
}

// Warps at different barriers.
static uint32_t never_meet(struct tw_context* context, struct tw_warp* warp) {
    EXPECT(warp->resume == 0);
    warp->resume = 1;
    warp->barrier = context->warp_index;
    warp->threads = 0;
    return TW_AT_BARRIER;
}

static void test_warps_that_wait_for_each_other_end_the_block(void) {
    struct tw_context* context = make_launch(4, 64, never_meet, 0);
    EXPECT(run(context) == TW_EXITED);
    EXPECT(context->barriers == 0 && context->fault_count == 1);
    EXPECT(context->faults[0].kind == TW_DEADLOCK && context->faults[0].count == 8);
    EXPECT(context->faults[0].arrived == 1 && context->faults[0].expected == 2);
    free_launch(context);
}

int main(void) {
    test_every_block_runs_once();
    test_chosen_blocks_run_and_no_other();
    test_host_threads_share_the_blocks();
    test_a_stop_is_seen_before_the_next_block();
    test_a_warp_with_fewer_threads_runs_lane_by_lane();
    test_the_first_block_in_order_runs_with_all_lanes_there();
    test_a_block_that_bailed_runs_lane_by_lane_once();
    test_a_barrier_waits_for_the_warps_that_are_left();
    test_warps_that_wait_for_each_other_end_the_block();
    return failures != 0;
}
