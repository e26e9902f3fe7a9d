// Whether blocks that let each other go first can still go on.
#include "tilewise.h"

// After so many passes without a change in memory the state of all warps is looked at: the same state again, within a window of passes,
// will come again for ever. Then four times as many, so that looking takes little of a long wait's time.
enum { FIRST_LOOK = 256, WINDOW = 64 };

static uint64_t mix(uint64_t state, const void* memory, uint64_t bytes) {
    const uint64_t* words = (const uint64_t*)memory;  // allocated in whole cache lines, the last one's rest never written
    for (uint64_t i = 0; i < bytes / 8; ++i) {
        state = (state ^ words[i]) * 0x9e3779b97f4a7c15ull;
        state ^= state >> 29;
    }
    const uint8_t* rest = (const uint8_t*)memory + bytes / 8 * 8;
    for (uint64_t i = 0; i < bytes % 8; ++i) state = (state ^ rest[i]) * 0x9e3779b97f4a7c15ull;
    return state;
}

// All that what the warps do next hangs on, but for the buffers.
static uint64_t state_of(const struct tw_context* context) {
    uint64_t state = 0;
    for (uint64_t i = 0; i < context->resident_count; ++i) {
        const struct tw_block* block = &context->resident[i];
        if (!block->active) continue;
        state = mix(state + i, block->warps, context->warp_bytes * context->warp_count);
        state = mix(state, block->shared, context->shared_bytes);
        state = mix(state, block->local, context->local_bytes * TW_LANES * context->warp_count);
        state = mix(state, block->barriers, sizeof block->barriers);
    }
    return state;
}

// Atomics that have changed memory, blocks that have ended, and runs of basic blocks that write.
static uint64_t count_writes(const struct tw_context* context) {
    uint64_t writes = context->changes;
    for (uint64_t i = 0; i < context->writer_count; ++i) {
        const uint64_t* counts = context->block_counts + 3 * context->writers[i];
        writes += counts[0] + counts[1];
    }
    return writes;
}

// Every block on its way has had a turn, and let others go first. Says whether none of them will ever do anything else.
int tw_is_stuck(struct tw_context* context, struct tw_progress* progress) {
    if (!context->is_alone || context->is_opaque) return 0;
    const uint64_t writes = count_writes(context);
    if (writes != progress->writes) {
        *progress = (struct tw_progress){.writes = writes};
        return 0;
    }
    const uint64_t passes = ++progress->passes;
    uint64_t look = FIRST_LOOK;
    while (4 * look <= passes) look *= 4;
    if (passes < look || passes > look + WINDOW) return 0;
    const uint64_t state = state_of(context);
    if (passes == look) progress->state = state;
    return passes > look && state == progress->state;
}

// Says of each warp where it is.
void tw_report_stuck(struct tw_context* context) {
    uint32_t on_their_way = 0;
    for (uint64_t i = 0; i < context->resident_count; ++i) on_their_way += context->resident[i].active;
    const uint64_t not_started = context->end_taken - context->first_taken +
                                 (context->last_block > *context->next_block ? context->last_block - *context->next_block : 0);
    for (uint64_t i = 0; i < context->resident_count; ++i) {
        struct tw_block* block = &context->resident[i];
        if (!block->active) continue;
        tw_take_up(context, block);
        tw_report_deadlock(context);
        for (uint64_t j = 0; j < context->warp_count; ++j) {
            struct tw_warp* warp = tw_warp_at(context, j);
            if (warp->status != TW_YIELDED) continue;
            context->warp_index = (uint32_t)j;
            for (uint32_t b = 0; b < context->blocks; ++b) {
                const uint32_t lanes = tw_waiting_at(context, warp, b);
                if (!lanes) continue;
                struct tw_fault* fault = tw_report(context, warp, TW_ENDLESS, context->stands[b], (uint32_t)__builtin_ctz(lanes), 0);
                if (!fault || fault->count > 1) continue;
                fault->mask = lanes;
                fault->arrived = (uint32_t)not_started;
                fault->expected = on_their_way;
            }
        }
    }
}
