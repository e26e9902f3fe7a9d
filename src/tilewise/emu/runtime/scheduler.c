// Runs the blocks of a launch: the warps of a block in turn, each until it waits, exits or lets others go first; and, where blocks wait for
// each other, as many blocks in turn as are resident at once.
#include <stdlib.h>
#include <string.h>

#include "tilewise.h"

static const uint64_t NONE = UINT64_MAX;

#define EXPORT __attribute__((visibility("default")))

// Returns the record of this kind of fault at this instruction, new if its count is 1; 0 if there is no room.
struct tw_fault* tw_report(struct tw_context* context, const struct tw_warp* warp, enum tw_fault_kind kind, uint32_t site, uint32_t lane,
                           uint64_t address) {
    for (uint64_t i = 0; i < context->fault_count; ++i)
        if (context->faults[i].kind == kind && context->faults[i].site == site) {
            context->faults[i].count += 1;
            if (!memcmp(context->faults[i].block, context->ctaid, sizeof context->ctaid))
                context->faults[i].warps |= 1u << context->warp_index;
            return &context->faults[i];
        }
    if (context->fault_count == context->fault_capacity) {
        context->faults_lost += 1;
        return 0;
    }
    struct tw_fault* fault = &context->faults[context->fault_count++];
    *fault = (struct tw_fault){.kind = kind, .site = site, .warp = context->warp_index, .lane = lane, .address = address, .count = 1};
    memcpy(fault->block, context->ctaid, sizeof fault->block);
    fault->mask = warp->waiting;
    fault->warps = 1u << context->warp_index;
    return fault;
}

// Lanes that cannot go on, each with a number at context->addresses.
void tw_fault(struct tw_context* context, const struct tw_warp* warp, uint32_t kind, uint32_t site, uint32_t mask) {
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        const uint32_t lane = (uint32_t)__builtin_ctz(rest);
        tw_report(context, warp, (enum tw_fault_kind)kind, site, lane, context->addresses[lane]);
    }
    if (kind == TW_TRAP && mask) *context->stop = 1;
}

// xorshift64*: Vigna, "An experimental exploration of Marsaglia's xorshift generators, scrambled" (2016).
static uint64_t draw(struct tw_context* context, uint64_t below) {
    if (!context->seed) return 0;
    context->seed ^= context->seed >> 12;
    context->seed ^= context->seed << 25;
    context->seed ^= context->seed >> 27;
    return (context->seed * 0x2545f4914f6cdd1dull >> 32) % below;
}

void tw_take_up(struct tw_context* context, struct tw_block* block) {
    if (block != context->block) memset(context->ranges, 0, context->range_count * sizeof *context->ranges);  // some hold its shared memory
    context->block = block;
    context->shared = block->shared;
    context->ctaid[0] = (uint32_t)(block->number % context->nctaid[0]);
    context->ctaid[1] = (uint32_t)(block->number / context->nctaid[0] % context->nctaid[1]);
    context->ctaid[2] = (uint32_t)(block->number / context->nctaid[0] / context->nctaid[1]);
    context->sm = (uint32_t)(block->number % context->sms);
}

static uint8_t* allocate(uint64_t bytes) {
    void* memory = aligned_alloc(64, (bytes + 127) / 64 * 64);
    if (!memory) abort();
    return memory;
}

static void start_block(struct tw_context* context, struct tw_block* block, uint64_t number) {
    if (!block->warps) {
        block->shared = allocate(context->shared_bytes);
        block->warps = allocate(context->warp_bytes * context->warp_count);
        block->arrivals = (struct tw_arrivals*)allocate(sizeof *block->arrivals * context->warp_count);
        block->local = allocate(context->local_bytes * TW_LANES * context->warp_count);
    }
    block->number = number;
    block->active = 1;
    block->live_warps = (uint32_t)context->warp_count;
    block->awaited = 0;
    tw_watch_start(context, block);
    tw_take_up(context, block);
    memset(block->shared, 0, context->shared_bytes);
    memset(block->warps, 0, context->warp_bytes * context->warp_count);
    for (uint64_t i = 0; i < context->warp_count && context->cleared_local_bytes; ++i)
        memset(block->local + i * TW_LANES * context->local_bytes, 0, TW_LANES * context->cleared_local_bytes);
    memset(block->barriers, 0, sizeof block->barriers);
    tw_forget_copies(context);
    for (uint64_t i = 0; i < context->warp_count; ++i) {
        struct tw_warp* warp = tw_warp_at(context, i);
        const uint64_t threads = context->threads - TW_LANES * i;
        warp->resume = context->entry;
        warp->patience = TW_PATIENCE;
        warp->arrivals = &block->arrivals[i];
        warp->live = threads >= TW_LANES ? UINT32_MAX : (1u << threads) - 1;
        if (warp->live != UINT32_MAX) {
            warp->careful = 1;
            tw_make_pending(context, warp, context->entry, warp->live);
        }
    }
}

// Where the local memory of a warp stands, for a kernel that has some.
static void take_up_local(struct tw_context* context, uint64_t warp) {
    const struct tw_block* block = context->block;
    const uint64_t offset = warp * TW_LANES * context->local_bytes;
    context->local = block->local + offset;
    context->local_written = block->local_written ? block->local_written + offset / 4 : 0;
}

// Runs a block until none of its warps is left (TW_EXITED), all that can run let others go first (TW_YIELDED), or the run is to end.
static uint32_t run_block(struct tw_context* context) {
    struct tw_block* block = context->block;
    const uint64_t warps = context->warp_count, local_bytes = context->local_bytes;
    int all_go = 0;  // all warps that are left came to the block's barrier together in the last round: it is complete
    for (;;) {
        uint32_t ran = 0, yielded = 0, waiting = 0, together = 0;
        uint64_t index = draw(context, warps);
        for (uint64_t turn = 0; turn < warps; ++turn, index = index + 1 < warps ? index + 1 : 0) {
            struct tw_warp* warp = tw_warp_at(context, index);
            if (warp->status == TW_EXITED || (warp->status == TW_AT_BARRIER && !all_go)) continue;
            context->warp_index = (uint32_t)index;
            if (local_bytes) take_up_local(context, index);
            uint32_t status = warp->careful ? tw_run_apart(context, warp) : context->fast(context, warp);
            if (status != TW_AT_BLOCK_BARRIER) status = tw_run_on(context, warp, status);
            warp->status = status == TW_AT_BLOCK_BARRIER ? TW_AT_BARRIER : status;
            ran = 1;
            if (status == TW_AT_BLOCK_BARRIER) {
                warp->yielded = 0;
                together += 1;
            } else if (status == TW_AT_BARRIER) {
                waiting = 1;
            } else if (status == TW_YIELDED) {
                yielded = 1;
            } else if (status == TW_EXITED) {
                tw_leave(context, warp);
            } else {
                return status;
            }
        }
        all_go = together && together == block->live_warps && !(block->awaited & 1) && !context->watch;
        if (all_go) {
            context->barriers += 1;
            if (context->screen) tw_screen_barrier(context);
        } else if (together || waiting) {
            tw_wait(context);
        }
        if (!block->live_warps) return TW_EXITED;
        if (yielded) return TW_YIELDED;
        if (!ran) {
            tw_report_deadlock(context);
            return TW_EXITED;
        }
    }
}

// The next block of the launch, or NONE.
static uint64_t next_number(struct tw_context* context) {
    if (context->first_taken == context->end_taken) {
        context->first_taken = __atomic_fetch_add(context->next_block, context->chunk, __ATOMIC_RELAXED);
        if (context->first_taken > context->last_block) context->first_taken = context->last_block;
        const uint64_t left = context->last_block - context->first_taken;
        context->end_taken = context->first_taken + (left < context->chunk ? left : context->chunk);
    }
    if (context->first_taken == context->end_taken) return NONE;
    const uint64_t index = context->first_taken++;
    return context->chosen ? context->chosen[index] : index;
}

// Gives a block's place turns until the block there lets others go first: one that has ended makes room for the next, at once if blocks
// go by number. Returns TW_EXITED if the place is empty.
static uint32_t run_place(struct tw_context* context, struct tw_block* block) {
    for (;;) {
        if (*context->stop) return TW_STOPPED;
        if (!block->active) {
            const uint64_t number = next_number(context);
            if (number == NONE) return TW_EXITED;
            start_block(context, block, number);
        }
        tw_take_up(context, block);
        const uint32_t status = run_block(context);
        if (status != TW_EXITED) return status;
        block->active = 0;
        context->changes += 1;
        if (context->seed) return TW_YIELDED;
    }
}

// Runs blocks until none is left. Returns the status that ended the run: TW_EXITED if all went to their end, or none can go on.
static uint32_t run_blocks(struct tw_context* context) {
    struct tw_progress progress = {0};
    for (;;) {
        uint32_t active = 0;
        const uint64_t first = draw(context, context->resident_count);
        for (uint64_t turn = 0; turn < context->resident_count; ++turn) {
            const uint32_t status = run_place(context, &context->resident[(first + turn) % context->resident_count]);
            if (status == TW_YIELDED)
                active = 1;
            else if (status != TW_EXITED)
                return status;
        }
        if (!active) return TW_EXITED;
        if (tw_is_stuck(context, &progress)) {
            tw_report_stuck(context);
            return TW_EXITED;
        }
    }
}

// Runs the launch. What the blocks were doing when it ended can be seen until tw_free.
EXPORT uint32_t tw_run(struct tw_context* context) {
    context->resident = (struct tw_block*)allocate(context->resident_count * sizeof *context->resident);
    memset(context->resident, 0, context->resident_count * sizeof *context->resident);
    return run_blocks(context);
}

EXPORT void tw_free(struct tw_context* context) {
    for (uint64_t i = 0; i < context->resident_count; ++i) {
        struct tw_block* block = &context->resident[i];
        tw_free_copies(context, block);
        tw_watch_free(context, block);
        free(block->shared);
        free(block->warps);
        free(block->arrivals);
        free(block->local);
    }
    free(context->resident);
}

// Sizes and entry points, for the Python side to check and to fill contexts with.
EXPORT void tw_abi(uint64_t* sizes, void** functions) {
    const uint64_t known[] = {sizeof(struct tw_context),     sizeof(struct tw_warp),      sizeof(struct tw_buffer),
                              sizeof(struct tw_range),       sizeof(struct tw_site),      sizeof(struct tw_fault),
                              sizeof(struct tw_site_counts), sizeof(struct tw_block),     sizeof(struct tw_watch),
                              sizeof(struct tw_conflict),    sizeof(struct tw_unwritten), sizeof(struct tw_screen)};
    void* const entries[] = {(void*)tw_access,      (void*)tw_atomic,  (void*)tw_fault,       (void*)tw_print,      (void*)tw_assert,
                             (void*)tw_count,       (void*)tw_resolve, (void*)tw_next,        (void*)tw_come,       (void*)tw_meet,
                             (void*)tw_collect,     (void*)tw_copy,    (void*)tw_copy_commit, (void*)tw_copy_wait,  (void*)tw_warp_sync,
                             (void*)tw_fence,       (void*)tw_shuffle, (void*)tw_named,       (void*)tw_local_read, (void*)tw_screen_runs,
                             (void*)tw_screen_lanes};
    memcpy(sizes, known, sizeof known);
    memcpy(functions, entries, sizeof entries);
}
