// Runs the blocks of a launch: the warps of a block in turn until each waits or exits, then the barrier, and again.
#include <string.h>

#include "tilewise.h"

#define EXPORT __attribute__((visibility("default")))

static uint64_t* pending_blocks(struct tw_warp* warp) { return warp->words; }
static uint64_t* waiting_blocks(const struct tw_context* context, struct tw_warp* warp) { return warp->words + context->words; }
static uint32_t* lane_masks(const struct tw_context* context, struct tw_warp* warp) {
    return (uint32_t*)(warp->words + 2 * context->words);
}
static uint32_t* waiting_masks(const struct tw_context* context, struct tw_warp* warp) {
    return lane_masks(context, warp) + context->blocks;
}
static struct tw_warp* warp_at(const struct tw_context* context, uint64_t index) {
    return (struct tw_warp*)(context->warps + index * context->warp_bytes);
}

void tw_report(struct tw_context* context, const struct tw_warp* warp, enum tw_fault_kind kind, uint32_t site, uint32_t lane,
               uint64_t address) {
    for (uint64_t i = 0; i < context->fault_count; ++i)
        if (context->faults[i].kind == kind && context->faults[i].site == site) {
            context->faults[i].count += 1;
            return;
        }
    if (context->fault_count == context->fault_capacity) {
        context->faults_lost += 1;
        return;
    }
    struct tw_fault* fault = &context->faults[context->fault_count++];
    *fault = (struct tw_fault){.kind = kind, .site = site, .warp = context->warp_index, .lane = lane, .address = address, .count = 1};
    memcpy(fault->block, context->ctaid, sizeof fault->block);
    fault->mask = warp->waiting;
}

// The next block to run lane by lane: the first in execution order that lanes are pending at, its lanes in warp->mask. Negative: how the
// kernel is to return instead.
int32_t tw_next(struct tw_context* context, struct tw_warp* warp) {
    uint64_t *pending = pending_blocks(warp), left = 0;
    int32_t block = -1;
    for (uint64_t i = 0; i < context->words; ++i) {
        if (block < 0 && pending[i]) {
            block = (int32_t)(64 * i) + __builtin_ctzll(pending[i]);
            pending[i] &= pending[i] - 1;
        }
        left |= pending[i];
    }
    if (block < 0) return warp->waiting ? -TW_AT_BARRIER : -TW_EXITED;
    uint32_t* mask = &lane_masks(context, warp)[block];
    warp->mask = *mask;
    *mask = 0;
    if (warp->mask == UINT32_MAX && !left && !warp->insist) {
        warp->resume = (uint32_t)block;
        return -TW_TO_FAST;
    }
    warp->insist = 0;
    return block;
}

static void make_pending(struct tw_context* context, struct tw_warp* warp, uint32_t block, uint32_t mask) {
    pending_blocks(warp)[block / 64] |= 1ull << block % 64;
    lane_masks(context, warp)[block] |= mask;
}

// The running lanes wait at a barrier and will go on at block `resume`. Others of their warp may leave the kernel meanwhile, but not come
// to a barrier by themselves.
void tw_park(struct tw_context* context, struct tw_warp* warp, uint32_t resume, uint32_t barrier, uint32_t site) {
    if (warp->waiting)
        tw_report(context, warp, TW_BARRIER_DIVERGENCE, warp->wait_site, (uint32_t)__builtin_ctz(warp->waiting), warp->barrier);
    waiting_blocks(context, warp)[resume / 64] |= 1ull << resume % 64;
    waiting_masks(context, warp)[resume] |= warp->mask;
    warp->waiting |= warp->mask;
    warp->barrier = barrier;
    warp->wait_site = site;
}

static void start_block(struct tw_context* context, uint64_t block) {
    context->ctaid[0] = (uint32_t)(block % context->nctaid[0]);
    context->ctaid[1] = (uint32_t)(block / context->nctaid[0] % context->nctaid[1]);
    context->ctaid[2] = (uint32_t)(block / context->nctaid[0] / context->nctaid[1]);
    memset(context->shared, 0, context->shared_bytes);
    memset(context->warps, 0, context->warp_bytes * context->warp_count);
    tw_forget_copies(context);
    for (uint64_t i = 0; i < context->warp_count; ++i) {
        struct tw_warp* warp = warp_at(context, i);
        const uint64_t threads = context->threads - TW_LANES * i;
        warp->live = threads >= TW_LANES ? UINT32_MAX : (1u << threads) - 1;
        if (warp->live != UINT32_MAX) {
            warp->careful = 1;
            make_pending(context, warp, 0, warp->live);
        }
    }
}

// Runs one warp until it waits at a barrier, exits or stops.
static uint32_t run_warp(struct tw_context* context, struct tw_warp* warp) {
    for (;;) {
        if (warp->careful && !context->careful) {
            context->careful = context->compile_careful();
            if (!context->careful) return TW_STOPPED;
        }
        const uint32_t status = (warp->careful ? context->careful : context->fast)(context, warp);
        switch (status) {
            case TW_TO_FAST:
                warp->careful = 0;
                break;
            case TW_TO_CAREFUL:
                make_pending(context, warp, warp->resume, warp->live);
                warp->insist = 1;
                warp->careful = 1;
                break;
            case TW_DIVERGED:
                warp->careful = 1;
                break;
            default:
                return status;
        }
    }
}

static void release(struct tw_context* context, struct tw_warp* warp) {
    warp->status = 0;
    warp->waiting = 0;
    if (!warp->careful) return;
    for (uint64_t i = 0; i < context->words; ++i)
        for (uint64_t* rest = &waiting_blocks(context, warp)[i]; *rest; *rest &= *rest - 1) {
            const uint32_t block = (uint32_t)(64 * i) + (uint32_t)__builtin_ctzll(*rest);
            make_pending(context, warp, block, waiting_masks(context, warp)[block]);
            waiting_masks(context, warp)[block] = 0;
        }
}

// Every warp that is left waits. Lets them go if all wait at the same barrier; otherwise nobody ever will.
static int complete_barrier(struct tw_context* context) {
    const struct tw_warp* first = 0;
    for (uint64_t i = 0; i < context->warp_count; ++i) {
        const struct tw_warp* warp = warp_at(context, i);
        if (warp->status != TW_AT_BARRIER) continue;
        if (!first) first = warp;
        if (warp->barrier != first->barrier) {
            context->warp_index = (uint32_t)i;
            tw_report(context, warp, TW_DEADLOCK, warp->wait_site, 0, warp->barrier);
            return 0;
        }
    }
    for (uint64_t i = 0; i < context->warp_count; ++i) {
        struct tw_warp* warp = warp_at(context, i);
        if (warp->status == TW_AT_BARRIER) release(context, warp);
    }
    context->barriers += 1;
    return 1;
}

static uint32_t run_block(struct tw_context* context, uint64_t block) {
    start_block(context, block);
    for (;;) {
        uint64_t waiting = 0;
        for (uint64_t i = 0; i < context->warp_count; ++i) {
            struct tw_warp* warp = warp_at(context, i);
            if (warp->status == TW_EXITED) continue;
            context->warp_index = (uint32_t)i;
            warp->status = run_warp(context, warp);
            if (warp->status == TW_AT_BARRIER)
                ++waiting;
            else if (warp->status != TW_EXITED)
                return warp->status;
        }
        if (!waiting || !complete_barrier(context)) return TW_EXITED;
    }
}

static uint32_t run_blocks(struct tw_context* context) {
    for (;;) {
        const uint64_t first = __atomic_fetch_add(context->next_block, context->chunk, __ATOMIC_RELAXED);
        if (first >= context->last_block) return TW_EXITED;
        const uint64_t left = context->last_block - first, count = left < context->chunk ? left : context->chunk;
        for (uint64_t i = first; i < first + count; ++i) {
            if (*context->stop) return TW_STOPPED;
            const uint32_t status = run_block(context, context->chosen ? context->chosen[i] : i);
            if (status != TW_EXITED) return status;
        }
    }
}

// Takes blocks until none is left. Returns the status that ended the run: TW_EXITED if all went to their end.
EXPORT uint32_t tw_run(struct tw_context* context) {
    const uint32_t status = run_blocks(context);
    tw_free_copies(context);
    return status;
}

// Sizes and entry points, for the Python side to check and to fill contexts with.
EXPORT void tw_abi(uint64_t* sizes, void** functions) {
    const uint64_t known[] = {sizeof(struct tw_context), sizeof(struct tw_warp),  sizeof(struct tw_buffer),     sizeof(struct tw_range),
                              sizeof(struct tw_site),    sizeof(struct tw_fault), sizeof(struct tw_site_counts)};
    void* const entries[] = {(void*)tw_access, (void*)tw_count, (void*)tw_resolve,     (void*)tw_next,
                             (void*)tw_park,   (void*)tw_copy,  (void*)tw_copy_commit, (void*)tw_copy_wait};
    memcpy(sizes, known, sizeof known);
    memcpy(functions, entries, sizeof entries);
}
