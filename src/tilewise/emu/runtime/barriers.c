// The barriers of a block. A warp has come to one when all its lanes that are left have.
#include "tilewise.h"

// Warps that have to come: as many as the instruction says, else all that are left.
static uint32_t expected_warps(const struct tw_context* context, const struct tw_barrier* barrier) {
    return barrier->threads ? (barrier->threads + TW_LANES - 1) / TW_LANES : context->block->live_warps;
}

static void release(struct tw_context* context, struct tw_warp* warp, const struct tw_barrier* barrier) {
    warp->barrier_lanes = barrier->lanes;
    warp->barrier_ones = barrier->ones;
    warp->status = warp->barrier = warp->threads = warp->counted = warp->yielded = 0;
    for (uint32_t rest = warp->careful ? warp->waiting : 0; rest; rest &= rest - 1) {
        const uint32_t lane = (uint32_t)__builtin_ctz(rest);
        tw_make_pending(context, warp, warp->arrivals->resume[lane], 1u << lane);
    }
    warp->waiting = 0;
}

// For the quick look: a barrier for some of the threads, or one that lanes have left before, is looked at more closely.
static void screen_barrier(struct tw_context* context, uint32_t number) {
    const uint32_t threads = context->block->barriers[number].threads;
    int is_plain = !threads || threads >= context->threads;
    for (uint64_t i = 0; i < context->warp_count; ++i) {
        const struct tw_warp* warp = tw_warp_at(context, i);
        const uint64_t rest = context->threads - TW_LANES * i;
        if (warp->counted && warp->barrier == number) is_plain &= warp->live == (rest >= TW_LANES ? UINT32_MAX : (1u << rest) - 1);
    }
    if (!is_plain) tw_suspect(context);
    tw_screen_barrier(context);
}

static void complete_if_all_came(struct tw_context* context, uint32_t number) {
    struct tw_barrier* barrier = &context->block->barriers[number];
    if (!barrier->warps || barrier->warps < expected_warps(context, barrier)) return;
    tw_watch_barrier(context, number);
    if (context->screen) screen_barrier(context, number);
    for (uint64_t i = 0; i < context->warp_count; ++i) {
        struct tw_warp* warp = tw_warp_at(context, i);
        if (warp->counted && warp->barrier == number) release(context, warp, barrier);
    }
    *barrier = (struct tw_barrier){0};
    context->block->awaited &= ~(1u << number);
    context->barriers += 1;
}

// All lanes of a warp that are left have come to a barrier.
static void count_warp(struct tw_context* context, struct tw_warp* warp, uint32_t number) {
    warp->arriving &= (uint16_t)~(1u << number);
    warp->counted = warp->live && !(warp->live & ~warp->waiting);
    context->block->barriers[number].warps += 1;
    complete_if_all_came(context, number);
}

// Counts a warp at each barrier that all its lanes have come to by now.
static void count_arrivals(struct tw_context* context, struct tw_warp* warp) {
    for (uint32_t rest = warp->arriving; rest; rest &= rest - 1) {
        const uint32_t number = (uint32_t)__builtin_ctz(rest);
        if (!(warp->live & ~warp->arrivals->lanes[number])) count_warp(context, warp, number);
    }
}

// Lanes of `mask` come to barriers, of `holds` with a true predicate: context->values holds 32 numbers, then 32 counts of threads. If they
// wait, they go on at block `resume`.
void tw_come(struct tw_context* context, struct tw_warp* warp, uint32_t site, uint32_t mask, uint32_t holds, uint32_t waits,
             uint32_t resume) {
    const uint32_t* values = (const uint32_t*)(const void*)context->values;
    const uint32_t is_same = warp->wait_site == site && warp->yielded;
    if (warp->waiting && waits && context->sites[site].aligned && !is_same)
        tw_report(context, warp, TW_BARRIER_DIVERGENCE, warp->wait_site, (uint32_t)__builtin_ctz(warp->waiting), warp->barrier);
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        const uint32_t lane = (uint32_t)__builtin_ctz(rest), number = values[lane] % TW_BARRIERS;
        struct tw_barrier* barrier = &context->block->barriers[number];
        context->block->awaited |= 1u << number;
        barrier->threads = values[TW_LANES + lane];
        barrier->lanes += 1;
        barrier->ones += holds >> lane & 1;
        if (!(warp->arriving >> number & 1)) warp->arrivals->lanes[number] = 0;
        warp->arriving |= (uint16_t)(1u << number);
        warp->arrivals->lanes[number] |= 1u << lane;
        tw_watch_arrival(context, number, site, 1u << lane);
        if (!waits) continue;
        warp->arrivals->resume[lane] = resume;
        warp->barrier = number;
    }
    if (!waits) {
        count_arrivals(context, warp);
        return;
    }
    warp->waiting |= mask;
    warp->wait_site = site;
}

// All lanes of a warp that are left wait. With all lanes together they have only said where (warp->barrier, ->threads).
static void count_waiting(struct tw_context* context, struct tw_warp* warp) {
    if (warp->waiting) {
        count_arrivals(context, warp);
        return;
    }
    const uint32_t number = warp->barrier %= TW_BARRIERS;
    struct tw_barrier* barrier = &context->block->barriers[number];
    context->block->awaited |= 1u << number;
    barrier->threads = warp->threads;
    barrier->lanes += TW_LANES;
    warp->waiting = warp->live;
    tw_watch_arrival(context, number, warp->wait_site, warp->live);
    count_warp(context, warp, number);
}

// Warps have come to barriers since the last call: lets those go whose barrier is complete.
void tw_wait(struct tw_context* context) {
    for (uint64_t i = 0; i < context->warp_count; ++i) {
        struct tw_warp* warp = tw_warp_at(context, i);
        if (warp->status != TW_AT_BARRIER || warp->counted) continue;
        context->warp_index = (uint32_t)i;
        count_waiting(context, warp);
    }
}

// A warp has left the kernel: nobody waits for it any more.
void tw_leave(struct tw_context* context, struct tw_warp* warp) {
    context->block->live_warps -= 1;
    count_arrivals(context, warp);
    for (uint32_t rest = context->block->awaited; rest; rest &= rest - 1) {
        const uint32_t number = (uint32_t)__builtin_ctz(rest);
        if (!context->block->barriers[number].threads) complete_if_all_came(context, number);
    }
}

// Nobody in the block can go on: says of each warp where it waits.
void tw_report_deadlock(struct tw_context* context) {
    for (uint64_t i = 0; i < context->warp_count; ++i) {
        const struct tw_warp* warp = tw_warp_at(context, i);
        if (!warp->waiting) continue;
        const struct tw_barrier* barrier = &context->block->barriers[warp->barrier];
        context->warp_index = (uint32_t)i;
        struct tw_fault* fault =
            tw_report(context, warp, TW_DEADLOCK, warp->wait_site, (uint32_t)__builtin_ctz(warp->waiting), warp->barrier);
        if (!fault || fault->count > 1) continue;
        fault->arrived = barrier->warps;
        fault->expected = expected_warps(context, barrier);
    }
}
