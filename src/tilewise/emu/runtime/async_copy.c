// cp.async: copies are kept where they were asked for and carried out at the thread's wait, so that a missing wait gives the wrong number.
#include <stdlib.h>
#include <string.h>

#include "tilewise.h"

// One instruction's copies. Lanes leave `mask` as they are carried out; `whole` if each reads all its bytes.
struct copy {
    uint32_t mask, size, whole, site;
    uint32_t target[TW_LANES], bytes[TW_LANES], group[TW_LANES];
    const uint8_t* source[TW_LANES];
};

// The copies of one warp, oldest first, and how many groups each lane has committed.
struct tw_copies {
    struct copy* list;
    uint64_t count, capacity;
    uint32_t committed[TW_LANES];
    uint32_t parted;  // whether lanes ever committed without the others
};

static struct tw_copies* copies_of_warp(struct tw_context* context) {
    struct tw_block* block = context->block;
    if (!block->copies) block->copies = calloc(context->warp_count, sizeof *block->copies);
    if (!block->copies) abort();
    return &block->copies[context->warp_index];
}

static struct copy* add_copy(struct tw_copies* copies) {
    if (copies->count == copies->capacity) {
        copies->capacity = copies->capacity ? 2 * copies->capacity : 16;
        copies->list = realloc(copies->list, copies->capacity * sizeof *copies->list);
        if (!copies->list) abort();
    }
    return &copies->list[copies->count++];
}

void tw_forget_copies(struct tw_context* context) {
    struct tw_copies* copies = context->block->copies;
    for (uint64_t i = 0; copies && i < context->warp_count; ++i) {
        copies[i].count = 0;
        copies[i].parted = 0;
        memset(copies[i].committed, 0, sizeof copies[i].committed);
    }
}

void tw_free_copies(const struct tw_context* context, struct tw_block* block) {
    for (uint64_t i = 0; block->copies && i < context->warp_count; ++i) free(block->copies[i].list);
    free(block->copies);
}

// Whether both ends of a lane's copy are aligned and in bounds; reports if not. `size` is a power of two; `last` is the buffer of the
// lane before, mostly this one's too.
static int check_lane(struct tw_context* context, struct copy* copy, uint32_t site, uint32_t lane, struct tw_buffer** last) {
    const struct tw_warp* warp = tw_warp_at(context, context->warp_index);
    const uint64_t source = context->addresses[lane], bytes = copy->bytes[lane], target = copy->target[lane], low_bits = copy->size - 1;
    copy->source[lane] = 0;
    if ((target & low_bits) || (bytes && (source & low_bits))) {
        tw_report(context, warp, TW_MISALIGNED, site, lane, target & low_bits ? target : source);
        return 0;
    }
    if (target > context->shared_bytes || context->shared_bytes - target < copy->size) {
        tw_report(context, warp, TW_OUT_OF_SHARED, site, lane, target);
        return 0;
    }
    if (!bytes) return 1;
    struct tw_buffer* buffer = *last;
    if (!buffer || source < buffer->low || source >= buffer->high || buffer->high - source < bytes) {
        buffer = tw_find_buffer(context, source, bytes);
        if (!buffer) {
            tw_report(context, warp, TW_OUT_OF_BOUNDS, site, lane, source);
            return 0;
        }
        *last = buffer;
    }
    if (context->screen) tw_screen_buffer(context, buffer, TW_READS);
    copy->source[lane] = (const uint8_t*)(uintptr_t)(source + buffer->delta);
    return 1;
}

// The common case at a glance: all lanes, each reading all its bytes, aligned, within shared memory and one buffer. Fills in the sources.
static int check_together(struct tw_context* context, struct copy* copy) {
    uint64_t lowest = UINT64_MAX, highest = 0, bits = 0, last_target = 0, missing = 0;
    for (uint32_t lane = 0; lane < TW_LANES; ++lane) {
        const uint64_t source = context->addresses[lane];
        lowest = source < lowest ? source : lowest;
        highest = source > highest ? source : highest;
        last_target = copy->target[lane] > last_target ? copy->target[lane] : last_target;
        bits |= source | copy->target[lane];
        missing |= copy->bytes[lane] ^ copy->size;
    }
    if (missing || (bits & (copy->size - 1)) || last_target + copy->size > context->shared_bytes) return 0;
    struct tw_buffer* buffer = tw_find_buffer(context, lowest, copy->size);
    if (!buffer || highest >= buffer->high || buffer->high - highest < copy->size) return 0;
    if (context->screen) tw_screen_buffer(context, buffer, TW_READS);
    for (uint32_t lane = 0; lane < TW_LANES; ++lane)
        copy->source[lane] = (const uint8_t*)(uintptr_t)(context->addresses[lane] + buffer->delta);
    return 1;
}

// Lanes that read nothing ask nothing of global memory.
static void count_copy(struct tw_context* context, const struct copy* copy, uint32_t site) {
    struct tw_site_counts* counts = &context->site_counts[site];
    uint32_t reading = copy->whole ? UINT32_MAX : 0;
    if (copy->whole) counts->read_bytes += (uint64_t)TW_LANES * copy->size;
    for (uint32_t rest = copy->whole ? 0 : copy->mask; rest; rest &= rest - 1) {
        const uint32_t lane = (uint32_t)__builtin_ctz(rest);
        if (copy->bytes[lane]) reading |= 1u << lane;
        counts->read_bytes += copy->bytes[lane];
    }
    counts->lanes += (uint64_t)__builtin_popcount(copy->mask);
    counts->written_bytes += (uint64_t)__builtin_popcount(copy->mask) * copy->size;
    if (!reading) return;
    const uint64_t sectors = tw_count_sectors(context->addresses, reading, copy->size);
    counts->requests += 1;
    counts->transactions += sectors;
    if (sectors > counts->worst) counts->worst = sectors;
}

static void watch_copy(struct tw_context* context, const struct copy* copy) {
    tw_watch_instruction(context, copy->site);
    for (uint32_t rest = context->screen ? copy->mask : 0; rest; rest &= rest - 1)
        tw_screen_copy(context, copy->target[__builtin_ctz(rest)], copy->size, 0);
    for (uint32_t rest = context->watch ? copy->mask : 0; rest; rest &= rest - 1) {
        const uint32_t lane = (uint32_t)__builtin_ctz(rest);
        tw_watch_copy(context, copy->site, lane, context->addresses[lane], copy->bytes[lane], copy->target[lane], copy->size);
    }
}

// values: 32 targets, 32 counts of bytes to read, 32 times the size (uint32_t each).
void tw_copy(struct tw_context* context, uint32_t site, uint32_t mask) {
    if (!mask) return;
    const uint32_t* values = (const uint32_t*)(const void*)context->values;
    struct tw_copies* copies = copies_of_warp(context);
    struct copy* copy = add_copy(copies);
    struct tw_buffer* last = 0;
    copy->mask = mask;
    copy->site = site;
    copy->size = values[2 * TW_LANES];
    memcpy(copy->target, values, sizeof copy->target);
    memcpy(copy->group, copies->committed, sizeof copy->group);
    for (uint32_t lane = 0; lane < TW_LANES; ++lane) {
        const uint32_t bytes = values[TW_LANES + lane];
        copy->bytes[lane] = bytes < copy->size ? bytes : copy->size;
    }
    copy->whole = mask == UINT32_MAX && check_together(context, copy);
    for (uint32_t rest = copy->whole ? 0 : mask; rest; rest &= rest - 1) {
        const uint32_t lane = (uint32_t)__builtin_ctz(rest);
        if (!check_lane(context, copy, site, lane, &last)) copy->mask &= ~(1u << lane);
    }
    count_copy(context, copy, site);
    watch_copy(context, copy);
    if (!copy->mask) --copies->count;
}

void tw_copy_commit(struct tw_context* context, uint32_t mask) {
    struct tw_copies* copies = copies_of_warp(context);
    copies->parted |= mask != UINT32_MAX;
    for (uint32_t lane = 0; lane < TW_LANES; ++lane) copies->committed[lane] += mask >> lane & 1;
}

static void carry_out_lane(struct tw_context* context, const struct copy* copy, uint32_t lane) {
    uint8_t* target = context->shared + copy->target[lane];
    if (copy->bytes[lane]) memcpy(target, copy->source[lane], copy->bytes[lane]);
    memset(target + copy->bytes[lane], 0, copy->size - copy->bytes[lane]);
}

static void carry_out(struct tw_context* context, struct copy* copy, uint32_t mask) {
    copy->mask &= ~mask;
    for (uint32_t rest = context->screen ? mask : 0; rest; rest &= rest - 1)
        tw_screen_copy(context, copy->target[__builtin_ctz(rest)], copy->size, 1);
    for (uint32_t rest = context->watch ? mask : 0; rest; rest &= rest - 1) {
        const uint32_t lane = (uint32_t)__builtin_ctz(rest);
        tw_watch_copied(context, copy->site, lane, copy->target[lane], copy->size);
    }
    if (mask == UINT32_MAX && copy->whole && copy->size == 16) {
        for (uint32_t lane = 0; lane < TW_LANES; ++lane) memcpy(context->shared + copy->target[lane], copy->source[lane], 16);
    } else if (mask == UINT32_MAX && copy->whole && copy->size == 4) {
        for (uint32_t lane = 0; lane < TW_LANES; ++lane) memcpy(context->shared + copy->target[lane], copy->source[lane], 4);
    } else {
        for (uint32_t rest = mask; rest; rest &= rest - 1) carry_out_lane(context, copy, (uint32_t)__builtin_ctz(rest));
    }
}

// The lanes whose groups come before the last `pending`.
static uint32_t lanes_due(const struct tw_copies* copies, const struct copy* copy, int32_t pending) {
    if (pending < 0) return UINT32_MAX;
    if (!copies->parted) return copy->group[0] + (uint32_t)pending < copies->committed[0] ? UINT32_MAX : 0;
    uint32_t due = 0;
    for (uint32_t lane = 0; lane < TW_LANES; ++lane)
        due |= (uint32_t)(copy->group[lane] + (uint32_t)pending < copies->committed[lane]) << lane;
    return due;
}

// Carries out the copies of all but the last `pending` groups of each lane; all copies, in a group or not, if `pending` is negative.
void tw_copy_wait(struct tw_context* context, uint32_t mask, int32_t pending) {
    struct tw_copies* copies = copies_of_warp(context);
    uint64_t kept = 0;
    for (uint64_t i = 0; i < copies->count; ++i) {
        struct copy* copy = &copies->list[i];
        carry_out(context, copy, lanes_due(copies, copy, pending) & mask & copy->mask);
        if (copy->mask && kept++ != i) copies->list[kept - 1] = *copy;
    }
    copies->count = kept;
}
