// cp.async: copies are kept where they were asked for and carried out at the thread's wait, so that a missing wait gives the wrong number.
#include <stdlib.h>
#include <string.h>

#include "tilewise.h"

// One instruction's copies. Lanes leave `mask` as they are carried out.
struct copy {
    uint32_t mask, size;
    uint32_t target[TW_LANES], bytes[TW_LANES], group[TW_LANES];
    const uint8_t* source[TW_LANES];
};

// The copies of one warp, oldest first, and how many groups each lane has committed.
struct tw_copies {
    struct copy* list;
    uint64_t count, capacity;
    uint32_t committed[TW_LANES];
};

static struct tw_copies* copies_of_warp(struct tw_context* context) {
    if (!context->copies) context->copies = calloc(context->warp_count, sizeof *context->copies);
    if (!context->copies) abort();
    return &context->copies[context->warp_index];
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
    if (!context->copies) return;
    for (uint64_t i = 0; i < context->warp_count; ++i) {
        context->copies[i].count = 0;
        memset(context->copies[i].committed, 0, sizeof context->copies[i].committed);
    }
}

void tw_free_copies(struct tw_context* context) {
    if (!context->copies) return;
    for (uint64_t i = 0; i < context->warp_count; ++i) free(context->copies[i].list);
    free(context->copies);
    context->copies = 0;
}

// Whether both ends of a lane's copy are aligned and in bounds; reports if not.
static int check_lane(struct tw_context* context, struct copy* copy, uint32_t site, uint32_t lane, const struct tw_buffer** last) {
    const struct tw_warp* warp = (const struct tw_warp*)(context->warps + context->warp_index * context->warp_bytes);
    const uint64_t source = context->addresses[lane], bytes = copy->bytes[lane], target = copy->target[lane];
    copy->source[lane] = 0;
    if ((bytes && source % copy->size) || target % copy->size) {
        tw_report(context, warp, TW_MISALIGNED, site, lane, bytes && source % copy->size ? source : target);
        return 0;
    }
    if (target > context->shared_bytes || context->shared_bytes - target < copy->size) {
        tw_report(context, warp, TW_OUT_OF_SHARED, site, lane, target);
        return 0;
    }
    if (!bytes) return 1;
    const struct tw_buffer* buffer = *last;
    if (!buffer || source < buffer->low || source >= buffer->high || buffer->high - source < bytes)
        buffer = tw_find_buffer(context, source, bytes);
    if (!buffer) {
        tw_report(context, warp, TW_OUT_OF_BOUNDS, site, lane, source);
        return 0;
    }
    *last = buffer;
    copy->source[lane] = (const uint8_t*)(uintptr_t)(source + buffer->delta);
    return 1;
}

// Lanes that read nothing ask nothing of global memory.
static void count_copy(struct tw_context* context, const struct copy* copy, uint32_t site) {
    struct tw_site_counts* counts = &context->site_counts[site];
    uint32_t reading = 0;
    for (uint32_t rest = copy->mask; rest; rest &= rest - 1) {
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

// values: 32 targets, 32 counts of bytes to read, 32 times the size (uint32_t each).
void tw_copy(struct tw_context* context, uint32_t site, uint32_t mask) {
    if (!mask) return;
    const uint32_t* values = (const uint32_t*)(const void*)context->values;
    struct tw_copies* copies = copies_of_warp(context);
    struct copy* copy = add_copy(copies);
    const struct tw_buffer* last = 0;
    copy->mask = mask;
    copy->size = values[2 * TW_LANES];
    memcpy(copy->target, values, sizeof copy->target);
    memcpy(copy->group, copies->committed, sizeof copy->group);
    for (uint32_t lane = 0; lane < TW_LANES; ++lane) {
        const uint32_t bytes = values[TW_LANES + lane];
        copy->bytes[lane] = bytes < copy->size ? bytes : copy->size;
    }
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        const uint32_t lane = (uint32_t)__builtin_ctz(rest);
        if (!check_lane(context, copy, site, lane, &last)) copy->mask &= ~(1u << lane);
    }
    count_copy(context, copy, site);
    if (!copy->mask) --copies->count;
}

void tw_copy_commit(struct tw_context* context, uint32_t mask) {
    struct tw_copies* copies = copies_of_warp(context);
    for (uint32_t lane = 0; lane < TW_LANES; ++lane) copies->committed[lane] += mask >> lane & 1;
}

static void carry_out(struct tw_context* context, struct copy* copy, uint32_t mask) {
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        const uint32_t lane = (uint32_t)__builtin_ctz(rest);
        uint8_t* target = context->shared + copy->target[lane];
        const uint32_t bytes = copy->bytes[lane];
        if (bytes == 16)
            memcpy(target, copy->source[lane], 16);
        else if (bytes == 4 && copy->size == 4)
            memcpy(target, copy->source[lane], 4);
        else {
            if (bytes) memcpy(target, copy->source[lane], bytes);
            memset(target + bytes, 0, copy->size - bytes);
        }
    }
    copy->mask &= ~mask;
}

// Carries out the copies of all but the last `pending` groups of each lane; all copies, in a group or not, if `pending` is negative.
void tw_copy_wait(struct tw_context* context, uint32_t mask, int32_t pending) {
    struct tw_copies* copies = copies_of_warp(context);
    uint64_t kept = 0;
    for (uint64_t i = 0; i < copies->count; ++i) {
        struct copy* copy = &copies->list[i];
        uint32_t due = pending < 0 ? mask : 0;
        for (uint32_t lane = 0; lane < TW_LANES && pending >= 0; ++lane)
            due |= (uint32_t)(copy->group[lane] + (uint32_t)pending < copies->committed[lane]) << lane;
        carry_out(context, copy, due & mask & copy->mask);
        if (copy->mask && kept++ != i) copies->list[kept - 1] = *copy;
    }
    copies->count = kept;
}
