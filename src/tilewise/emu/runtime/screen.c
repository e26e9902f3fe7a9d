// A quick look at a launch: whether accesses may be in conflict at all. Sets of bytes stand for what was read and written since the last
// barrier for all threads; a byte that was written and accessed otherwise in between, or read before anybody wrote it, makes the launch
// suspect. It is then run again with every access watched.
#include <stdlib.h>
#include <string.h>

#include "tilewise.h"

enum { BITS = 64 };
enum { READ, WRITTEN, UPDATED, PENDING, KNOWN, SETS };

enum { READINGS = 16 };

// Bytes that were read, and found in order, after so many changes.
struct tw_reading {
    uint64_t first, end, changes;
};

static uint64_t* set_of(const struct tw_screen* screen, uint32_t set) { return screen->sets + set * screen->words; }

// Ends the run: something needs a closer look.
void tw_suspect(struct tw_context* context) {
    context->screen->is_suspect = 1;
    *context->stop = 1;
}

// The bits of word i that lie in first..end.
static uint64_t part(uint64_t i, uint64_t first, uint64_t end) {
    uint64_t bits = UINT64_MAX;
    if (i == first / BITS) bits &= UINT64_MAX << first % BITS;
    if (i == (end - 1) / BITS) bits &= UINT64_MAX >> (BITS - 1 - (end - 1) % BITS);
    return bits;
}

// Notes a read of bytes first..end of shared memory; returns whether there is something about it. Warps read the same bytes one after
// another: what was in order is so until something changes.
static int read_shared(struct tw_screen* screen, uint64_t first, uint64_t end) {
    struct tw_reading* reading = &screen->readings[(first / BITS ^ end) % READINGS];
    if (reading->first == first && reading->end == end && reading->changes == screen->changes) return 0;
    uint64_t* read = set_of(screen, READ);
    const uint64_t *written = set_of(screen, WRITTEN), *updated = set_of(screen, UPDATED);
    const uint64_t *pending = set_of(screen, PENDING), *known = set_of(screen, KNOWN);
    uint64_t found = 0;
    for (uint64_t i = first / BITS; i * BITS < end; ++i) {
        const uint64_t bits = part(i, first, end);
        found |= (written[i] | updated[i] | pending[i] | ~known[i]) & bits;
        read[i] |= bits;
    }
    screen->used |= 1 << READ;
    if (!found) *reading = (struct tw_reading){first, end, screen->changes};
    return found != 0;
}

// Notes an access to bytes first..end of shared memory; returns whether there is something about it.
static int touch_shared(struct tw_screen* screen, uint64_t first, uint64_t end, uint32_t traits) {
    uint64_t *read = set_of(screen, READ), *written = set_of(screen, WRITTEN), *updated = set_of(screen, UPDATED);
    uint64_t *pending = set_of(screen, PENDING), *known = set_of(screen, KNOWN), found = 0;
    if (end > screen->words * BITS) return 1;
    if (!(traits & (TW_UPDATES | TW_COPIES | TW_WRITES))) return read_shared(screen, first, end);
    ++screen->changes;
    screen->used |= 1 << (traits & TW_UPDATES ? UPDATED : traits & TW_COPIES ? PENDING : WRITTEN);
    for (uint64_t i = first / BITS; i * BITS < end; ++i) {
        const uint64_t bits = part(i, first, end);
        if (traits & TW_UPDATES) {
            found |= (read[i] | written[i] | pending[i] | ~(known[i] | updated[i])) & bits;
            updated[i] |= bits;
        } else if (traits & TW_COPIES) {
            found |= (read[i] | written[i] | updated[i] | pending[i]) & bits;
            pending[i] |= bits;
        } else {
            found |= (read[i] | written[i] | updated[i] | pending[i]) & bits;
            written[i] |= bits;
        }
    }
    return found != 0;
}

// Notes a store to a buffer; returns whether some of the bytes have been stored before.
static int store_global(const struct tw_buffer* buffer, uint64_t first, uint64_t end) {
    uint64_t found = 0;
    for (uint64_t i = first / BITS; i * BITS < end; ++i) {
        const uint64_t bits = part(i, first, end);
        found |= buffer->stored[i] & bits;
        buffer->stored[i] |= bits;
    }
    return found != 0;
}

// A buffer is about to be read, written or updated: only one of them passes without a closer look.
void tw_screen_buffer(struct tw_context* context, struct tw_buffer* buffer, uint32_t traits) {
    const uint64_t kind = traits & TW_UPDATES ? TW_UPDATES : traits & TW_WRITES ? TW_WRITES : TW_READS;
    buffer->touched |= kind;
    if (buffer->touched & ~kind || (buffer->is_empty && kind != TW_WRITES)) tw_suspect(context);
}

// All lanes access runs of bytes: pairs of (first, end) from `base` on, an address in shared memory or a generic one.
void tw_screen_runs(struct tw_context* context, uint64_t base, const int32_t* runs, uint32_t count, uint32_t is_store, uint32_t is_shared) {
    const uint32_t traits = is_store ? TW_WRITES : TW_READS;
    int found = 0;
    if (is_shared || tw_space_of(base + (uint64_t)(int64_t)runs[0]) == TW_SHARED) {
        base -= is_shared ? 0 : TW_SHARED_WINDOW;
        for (uint32_t i = 0; i < 2 * count; i += 2) {
            const uint64_t first = (uint32_t)(base + (uint64_t)(int64_t)runs[i]);  // an address of 32 bits: the base alone may lie below 0
            found |= touch_shared(context->screen, first, first + (uint32_t)(runs[i + 1] - runs[i]), traits);
        }
    } else if (is_store) {
        const struct tw_buffer* buffer = tw_find_buffer(context, base + (uint64_t)(int64_t)runs[0], 1);
        for (uint32_t i = 0; buffer && i < 2 * count; i += 2)
            found |=
                store_global(buffer, base - buffer->low + (uint64_t)(int64_t)runs[i], base - buffer->low + (uint64_t)(int64_t)runs[i + 1]);
    }
    if (found) tw_suspect(context);
}

// One lane's part of an access that is known to be good.
void tw_screen_lane(struct tw_context* context, uint32_t site, uint32_t lane, const struct tw_place* place) {
    const struct tw_site* facts = &context->sites[site];
    const uint64_t bytes = (uint64_t)facts->element_bytes * facts->elements;
    if (place->space == TW_SHARED) {
        const uint64_t first = (uint64_t)(place->bytes - context->shared);
        if (touch_shared(context->screen, first, first + bytes, facts->traits)) tw_suspect(context);
    } else if (place->space == TW_GLOBAL) {
        tw_screen_buffer(context, place->buffer, facts->traits);
        const uint64_t first = (uint64_t)(uintptr_t)place->bytes - place->buffer->delta - place->buffer->low;
        if (facts->traits & TW_WRITES && !(facts->traits & TW_UPDATES) && store_global(place->buffer, first, first + bytes))
            tw_suspect(context);
    } else if (place->space == TW_LOCAL && tw_touch_local(context, site, lane, place->offset)) {
        tw_suspect(context);
    }
}

// All lanes access memory at context->addresses, which are known to be good.
void tw_screen_lanes(struct tw_context* context, uint32_t site) {
    const struct tw_site* facts = &context->sites[site];
    const uint64_t *at = context->addresses, bytes = (uint64_t)facts->element_bytes * facts->elements;
    uint64_t apart = 0, spread = 0;
    for (uint32_t lane = 0; lane < TW_LANES; ++lane) {
        apart |= at[lane] ^ at[0];
        spread |= at[lane] - (at[0] + lane * bytes);
    }
    const int is_shared = facts->space == TW_SHARED || (facts->space == TW_GENERIC && tw_space_of(at[0]) == TW_SHARED);
    if (!is_shared && !(facts->traits & TW_WRITES)) return;  // its buffer was looked at when it was found
    const int32_t one[] = {0, (int32_t)bytes}, row[] = {0, (int32_t)(TW_LANES * bytes)};
    const uint32_t is_store = (facts->traits & TW_WRITES) != 0, in_window = facts->space == TW_SHARED;
    if (!spread) {
        tw_screen_runs(context, at[0], row, 1, is_store, in_window);
    } else if (!apart) {
        if (is_store) tw_suspect(context);
        tw_screen_runs(context, at[0], one, 1, is_store, in_window);
    } else {
        for (uint32_t lane = 0; lane < TW_LANES; ++lane) {
            if (!is_store && lane && at[lane] == at[lane - 1]) continue;
            tw_screen_runs(context, at[lane], one, 1, is_store, in_window);
        }
    }
}

// A copy is asked for, or has been carried out.
void tw_screen_copy(struct tw_context* context, uint32_t target, uint32_t size, int is_done) {
    struct tw_screen* screen = context->screen;
    if (!is_done && touch_shared(screen, target, (uint64_t)target + size, TW_COPIES)) tw_suspect(context);
    ++screen->changes;
    for (uint64_t i = target / BITS; is_done && i * BITS < (uint64_t)target + size; ++i) {
        const uint64_t bits = part(i, target, (uint64_t)target + size);
        set_of(screen, PENDING)[i] &= ~bits;
        set_of(screen, WRITTEN)[i] |= bits;
        screen->used |= 1 << WRITTEN;
    }
}

// All threads of the block have come to a barrier.
void tw_screen_barrier(struct tw_context* context) {
    struct tw_screen* screen = context->screen;
    ++screen->changes;
    if (screen->used & (1 << WRITTEN | 1 << UPDATED))
        for (uint64_t i = 0; i < screen->words; ++i) set_of(screen, KNOWN)[i] |= set_of(screen, WRITTEN)[i] | set_of(screen, UPDATED)[i];
    for (uint32_t set = READ; set < PENDING; ++set)
        if (screen->used >> set & 1) memset(set_of(screen, set), 0, screen->words * sizeof *screen->sets);
    screen->used = 0;
}

void tw_screen_start(struct tw_context* context) {
    struct tw_screen* screen = context->screen;
    screen->words = context->shared_bytes / BITS + 1;
    if (!screen->sets) screen->sets = malloc(SETS * screen->words * sizeof *screen->sets);
    if (!screen->readings) screen->readings = calloc(READINGS, sizeof *screen->readings);
    if (!screen->sets || !screen->readings) abort();
    memset(screen->sets, 0, SETS * screen->words * sizeof *screen->sets);
    ++screen->changes;
    screen->used = 0;
}

void tw_screen_free(struct tw_screen* screen) {
    free(screen->sets);
    free(screen->readings);
    screen->sets = 0, screen->readings = 0;
}
