// The lanes of one warp: which of them run next, which wait for others of the warp, which let others go first.
#include "tilewise.h"

static uint64_t* pending_blocks(struct tw_warp* warp) { return warp->words; }
static uint64_t* meeting_blocks(const struct tw_context* context, struct tw_warp* warp) { return warp->words + context->words; }
static uint64_t* yielded_blocks(const struct tw_context* context, struct tw_warp* warp) { return warp->words + 2 * context->words; }
static uint32_t* lane_masks(const struct tw_context* context, struct tw_warp* warp) {
    return (uint32_t*)(warp->words + 3 * context->words);
}

static int any_block(const struct tw_context* context, const uint64_t* blocks) {
    uint64_t any = 0;
    for (uint64_t i = 0; i < context->words; ++i) any |= blocks[i];
    return any != 0;
}

void tw_make_pending(struct tw_context* context, struct tw_warp* warp, uint32_t block, uint32_t mask) {
    pending_blocks(warp)[block / 64] |= 1ull << block % 64;
    lane_masks(context, warp)[block] |= mask;
}

// Makes all lanes of a set of blocks pending.
static void let_go(const struct tw_context* context, struct tw_warp* warp, uint64_t* blocks) {
    for (uint64_t i = 0; i < context->words; ++i) {
        pending_blocks(warp)[i] |= blocks[i];
        blocks[i] = 0;
    }
}

// Takes the first pending block in execution order, with all lanes that are there, into warp->mask. Negative if there is none.
static int32_t take_first(const struct tw_context* context, struct tw_warp* warp) {
    for (uint64_t i = 0; i < context->words; ++i) {
        if (!pending_blocks(warp)[i]) continue;
        const uint32_t block = (uint32_t)(64 * i) + (uint32_t)__builtin_ctzll(pending_blocks(warp)[i]);
        const uint64_t others = ~(1ull << block % 64);
        pending_blocks(warp)[i] &= others;
        meeting_blocks(context, warp)[i] &= others;
        yielded_blocks(context, warp)[i] &= others;
        uint32_t* mask = &lane_masks(context, warp)[block];
        warp->mask = *mask;
        *mask = 0;
        return (int32_t)block;
    }
    return -1;
}

// The next block to run lane by lane, its lanes in warp->mask. Negative: how the kernel is to return instead.
int32_t tw_next(struct tw_context* context, struct tw_warp* warp) {
    for (;;) {
        const int32_t block = take_first(context, warp);
        if (block >= 0) {
            const int all = warp->mask == UINT32_MAX && !warp->insist && (context->heads[block / 64] >> block % 64 & 1);
            warp->insist = 0;
            if (!all) return block;
            warp->resume = (uint32_t)block;
            return -TW_TO_FAST;
        }
        uint64_t* meeting = meeting_blocks(context, warp);
        if (any_block(context, meeting) && warp->live != warp->met_live) {
            let_go(context, warp, meeting);  // some that were waited for have left the kernel
        } else if (any_block(context, yielded_blocks(context, warp))) {
            return -TW_YIELDED;
        } else if (any_block(context, meeting)) {
            warp->force = 1;  // nobody is left who could come
            let_go(context, warp, meeting);
        } else {
            return warp->waiting ? -TW_AT_BARRIER : -TW_EXITED;
        }
    }
}

// Lanes that are about to leave the kernel, with nothing else to do.
static uint32_t leaving_lanes(const struct tw_context* context, struct tw_warp* warp) {
    uint32_t leaving = 0;
    for (uint32_t block = 0; block < context->blocks; ++block)
        if (context->exits[block / 64] & pending_blocks(warp)[block / 64] & 1ull << block % 64) leaving |= lane_masks(context, warp)[block];
    return leaving;
}

// Reports lanes that were waited for, and have left the kernel without coming.
static void report_missed(struct tw_context* context, const struct tw_warp* warp, uint32_t site, uint32_t waited, uint32_t missed) {
    struct tw_fault* fault = missed ? tw_report(context, warp, TW_NEVER_CAME, site, (uint32_t)__builtin_ctz(waited), missed) : 0;
    if (fault && fault->count == 1) fault->mask = waited;
}

// The running lanes have come to block `block`, which they begin together with the lanes that each names (context->values, uint32_t).
// Returns those that need not wait; the others do.
uint32_t tw_meet(struct tw_context* context, struct tw_warp* warp, uint32_t block, uint32_t site) {
    const uint32_t *named = (const uint32_t*)(const void*)context->values, here = warp->mask;
    const uint32_t leaving = context->watch ? leaving_lanes(context, warp) : 0;
    uint32_t go = 0, missing = 0, missed = 0, waited = 0, names_gone = 0;
    for (uint32_t rest = here; rest; rest &= rest - 1) {
        const uint32_t lane = (uint32_t)__builtin_ctz(rest), absent = named[lane] & warp->live & ~here;
        missing |= absent;
        names_gone |= named[lane] & ~warp->live;
        const uint32_t lost = tw_watch_meeting(context, lane, absent, leaving, named[lane] & ~warp->live);
        missed |= lost;
        waited |= (uint32_t)(lost != 0) << lane;
        if (!absent) go |= 1u << lane;
    }
    if (warp->force && go != here) {
        struct tw_fault* fault = tw_report(context, warp, TW_WARP_MASK, site, (uint32_t)__builtin_ctz(here & ~go), missing);
        if (fault && fault->count == 1) fault->mask = here & ~go;
        go = here;
    }
    report_missed(context, warp, site, waited, missed);
    if (context->screen && names_gone) tw_suspect(context);
    warp->force = 0;
    if (go != here) {
        meeting_blocks(context, warp)[block / 64] |= 1ull << block % 64;
        lane_masks(context, warp)[block] |= here & ~go;
        warp->met_live = warp->live;
    }
    warp->mask = go;
    return go;
}

static uint32_t enter(struct tw_context* context, struct tw_warp* warp) {
    if (warp->careful && !context->careful) {
        context->careful = context->compile_careful();
        if (!context->careful) return TW_STOPPED;
    }
    return (warp->careful ? context->careful : context->fast)(context, warp);
}

// Runs a warp whose lanes are apart, or have let others go first.
uint32_t tw_run_apart(struct tw_context* context, struct tw_warp* warp) {
    if (any_block(context, yielded_blocks(context, warp))) {
        let_go(context, warp, yielded_blocks(context, warp));
        warp->yielded = 1;
    }
    return tw_run_on(context, warp, enter(context, warp));
}

// Goes on with a warp that has come back with a status, until it waits at a barrier, exits, stops, or lets others go first.
uint32_t tw_run_on(struct tw_context* context, struct tw_warp* warp, uint32_t status) {
    for (;;) {
        switch (status) {
            case TW_TO_FAST:
                warp->careful = 0;
                break;
            case TW_TO_CAREFUL:
                tw_make_pending(context, warp, warp->resume, warp->live);
                warp->insist = 1;
                warp->careful = 1;
                break;
            case TW_DIVERGED:
                warp->careful = 1;
                break;
            default:
                return status;
        }
        status = enter(context, warp);
    }
}

// The lanes of a warp that has let others go first which are at a block: for others of the warp or of any, or, all of them, to go on there.
uint32_t tw_waiting_at(const struct tw_context* context, struct tw_warp* warp, uint32_t block) {
    if (!warp->careful) return warp->resume == block ? warp->live : 0;
    const uint64_t there = meeting_blocks(context, warp)[block / 64] | yielded_blocks(context, warp)[block / 64];
    return there >> block % 64 & 1 ? lane_masks(context, warp)[block] : 0;
}
