// The accesses to one word: which of them a new one is in conflict with, and which are worth remembering.
//
// Of each instruction two threads are remembered, of two warps if there are such: then any later thread is in conflict with one of them if
// it is with any, and across warps if it is so with any.
#include "shadow.h"

static const uint32_t NO_ENTRY = UINT32_MAX;

static uint32_t warp_of(struct tw_entry entry) { return tw_thread_of(entry) / TW_LANES; }

static uint32_t at_most(uint32_t value, uint32_t limit) { return value < limit ? value : limit; }

static struct tw_entry entry_of(const struct tw_context* context, const struct tw_touch* touch) {
    const struct tw_order* order = context->block->order;
    return (struct tw_entry){
        .clock = (uint16_t)at_most(order->threads[touch->thread].clock, UINT16_MAX),
        .sequence = (uint16_t)at_most(order->sequence[touch->thread / TW_LANES], UINT16_MAX),
        .who = (uint16_t)(touch->thread | touch->bytes << 10 | touch->is_pending << 14),
        .site = (uint16_t)touch->site,
    };
}

// What an instruction does in a space: a copy reads global and writes shared memory.
static uint32_t traits_in(const struct tw_context* context, enum tw_space space, uint32_t site) {
    const uint32_t traits = context->sites[site].traits;
    return traits & TW_COPIES && space == TW_GLOBAL ? TW_READS : traits;
}

// Whether volatile accesses of two threads hand over data: one writes what the other reads, once, without going round until it is there.
static int is_handed_over(uint32_t both) { return both & TW_READS && !(both & TW_POLLS); }

// Whether two accesses to a word can be a race at all, whatever orders them.
static int can_conflict(uint32_t traits, const struct tw_touch* touch, struct tw_entry entry, int is_same_block) {
    if (!(tw_bytes_of(entry) & touch->bytes) || !((traits | touch->traits) & TW_WRITES)) return 0;
    if (is_same_block && tw_thread_of(entry) == touch->thread && !tw_is_pending(entry)) return 0;
    if (!(traits & touch->traits & TW_STRONG)) return 1;
    const int are_volatile = (traits & touch->traits & TW_VOLATILE) != 0;
    if (!is_same_block) return (traits | touch->traits) & TW_OF_BLOCK || (are_volatile && is_handed_over(traits | touch->traits));
    if (touch->space != TW_SHARED || !are_volatile) return 0;
    return warp_of(entry) == touch->thread / TW_LANES || is_handed_over(traits | touch->traits);
}

static struct tw_conflict* conflict_between(struct tw_watch* watch, enum tw_space space, uint32_t one, uint32_t other,
                                            uint32_t is_pending) {
    for (uint64_t i = 0; i < watch->conflict_count; ++i) {
        struct tw_conflict* conflict = &watch->conflicts[i];
        const int same = (conflict->sites[0] == one && conflict->sites[1] == other) ||
                         (conflict->sites[0] == other && conflict->sites[1] == one && !is_pending);
        if (same && conflict->space == space && conflict->is_pending == is_pending) return conflict;
    }
    if (watch->conflict_count == watch->conflict_capacity) {
        watch->lost += 1;
        return 0;
    }
    struct tw_conflict* conflict = &watch->conflicts[watch->conflict_count++];
    *conflict = (struct tw_conflict){.space = space, .is_pending = is_pending, .sites = {one, other}};
    conflict->in_warp = conflict->same_value = conflict->needs_fence = 1;
    return conflict;
}

// Whether volatile accesses of two warps are in the order that they need. In shared memory any flag gives it. What other blocks wrote needs
// a fence before the flag; without any flag between the two, the read is taken for a look at whether something is there yet.
static int is_volatile_in_order(const struct tw_context* context, const struct tw_touch* touch, struct tw_entry entry, uint64_t block,
                                uint32_t era) {
    const int is_weakly_known = tw_is_known(context, TW_WEAK, touch->thread, block, era, entry);
    if (touch->space == TW_SHARED) return is_weakly_known && warp_of(entry) != touch->thread / TW_LANES;
    return !is_weakly_known || tw_is_known(context, TW_RELEASED, touch->thread, block, era, entry);
}

static void report(struct tw_context* context, const struct tw_touch* touch, struct tw_entry entry, uint64_t block, uint32_t era) {
    struct tw_watch* watch = context->watch;
    const int is_weakly_known = tw_is_known(context, TW_WEAK, touch->thread, block, era, entry);
    const int are_volatile = traits_in(context, touch->space, entry.site) & touch->traits & TW_VOLATILE;
    if (are_volatile && is_volatile_in_order(context, touch, entry, block, era)) return;
    struct tw_conflict* conflict = conflict_between(watch, touch->space, entry.site, touch->site, tw_is_pending(entry));
    if (!conflict) return;
    const struct tw_order* order = context->block->order;
    const int is_same_block = block == context->block->number;
    const uint32_t both = traits_in(context, touch->space, entry.site) & touch->traits;
    if (!conflict->count++) {
        const uint64_t sites = watch->site_count;
        conflict->threads[0] = tw_thread_of(entry), conflict->threads[1] = touch->thread;
        conflict->blocks[0] = block, conflict->blocks[1] = context->block->number;
        conflict->iterations[0] = is_same_block ? order->executed[warp_of(entry) * sites + entry.site] : 0;
        conflict->iterations[1] = order->executed[touch->thread / TW_LANES * sites + touch->site];
        const uint64_t begin = (uint64_t)order->era << 32;
        const uint64_t one = order->latest[warp_of(entry) * sites + touch->site];
        const uint64_t other = order->latest[touch->thread / TW_LANES * sites + entry.site];
        if (is_same_block && one > begin) {  // a warp that does both says which comes first
            conflict->sequences[0] = entry.sequence;
            conflict->sequences[1] = at_most((uint32_t)one, UINT16_MAX);
        } else if (is_same_block && other > begin) {
            conflict->sequences[0] = (uint32_t)other;
            conflict->sequences[1] = order->sequence[touch->thread / TW_LANES];
        } else if (is_same_block && !is_weakly_known) {  // else the program's text does
            conflict->sequences[0] = entry.site;
            conflict->sequences[1] = touch->site;
        }
        conflict->address = touch->address;
    }
    conflict->in_warp &= is_same_block && warp_of(entry) == touch->thread / TW_LANES;
    conflict->across_blocks |= !is_same_block;
    conflict->same_value &= (both & TW_WRITES) && touch->same_value;
    conflict->needs_fence &= !tw_is_pending(entry) && is_weakly_known;
}

// Whether an access comes before all that its thread does from now on; those before the last barrier for all do.
static int is_known(const struct tw_context* context, const struct tw_touch* touch, struct tw_entry entry) {
    const struct tw_block* block = context->block;
    return tw_is_known(context, TW_STRICT, touch->thread, block->number, block->order->era, entry);
}

// An access of an earlier era: if one barrier instruction alone stands between the two, it is needed.
static void note_barrier(struct tw_context* context, const struct tw_touch* touch, struct tw_entry entry, uint32_t era) {
    const struct tw_order* order = context->block->order;
    if (era < order->run_start || era < order->first_era) return;
    const uint32_t traits = traits_in(context, touch->space, entry.site), both = traits & touch->traits;
    if (order->run_site >= context->watch->site_count || tw_thread_of(entry) == touch->thread) return;
    if (tw_bytes_of(entry) & touch->bytes && (traits | touch->traits) & TW_WRITES && !(both & TW_UPDATES))
        context->watch->orders[order->run_site] = 1;
}

enum { EARLIER_UPDATES = 1 << 14, EARLIER_WRITES = 1 << 15, EARLIER_BYTES = 15 << 10 };

// Adds an entry of an earlier era to what its thread, the first to come in this one, had done before: others may come behind it.
static uint16_t add_earlier(const struct tw_context* context, uint16_t earlier, struct tw_entry entry) {
    const uint32_t traits = traits_in(context, TW_SHARED, entry.site);
    const uint32_t updates = traits & TW_UPDATES && (!earlier || earlier & EARLIER_UPDATES) ? EARLIER_UPDATES : 0;
    const uint32_t kept = earlier & (EARLIER_BYTES | EARLIER_WRITES);
    return (uint16_t)(kept | tw_thread_of(entry) | tw_bytes_of(entry) << 10 | updates | (traits & TW_WRITES ? EARLIER_WRITES : 0));
}

// As note_barrier, for what the first thread of this era had done in an earlier one.
static void note_earlier(const struct tw_context* context, const struct tw_cell* cell, const struct tw_touch* touch) {
    const uint32_t earlier = cell->earlier, run_site = context->block->order->run_site;
    if (!earlier || (earlier & 1023) == touch->thread || run_site >= context->watch->site_count) return;
    const int writes = touch->traits & TW_WRITES || earlier & EARLIER_WRITES;
    const int only_updates = touch->traits & TW_UPDATES && earlier & EARLIER_UPDATES;
    if (earlier >> 10 & 15 & touch->bytes && writes && !only_updates) context->watch->orders[run_site] = 1;
}

// Makes a word's entries those of this era. Copies that nobody has waited for stay.
static void bring_up(struct tw_context* context, struct tw_cell* cell, const struct tw_touch* touch) {
    const struct tw_order* order = context->block->order;
    if (cell->era == order->era) return;
    uint8_t kept = 0;
    const int is_same_run = cell->era >= order->first_era && cell->era >= order->run_start;
    uint16_t earlier = is_same_run && cell->era > order->run_start && (cell->earlier & 1023) == touch->thread ? cell->earlier : 0;
    for (uint32_t i = 0; i < cell->count && cell->era >= order->first_era; ++i) {
        const struct tw_entry entry = cell->entries[i];
        if (tw_is_pending(entry)) {
            cell->entries[kept++] = entry;
            continue;
        }
        note_barrier(context, touch, entry, cell->era);
        if (is_same_run && tw_thread_of(entry) == touch->thread) earlier = add_earlier(context, earlier, entry);
    }
    if (cell->era < order->first_era) cell->valid = 0;
    cell->count = kept;
    cell->earlier = earlier;
    cell->era = order->era;
}

// Which entry a new one takes the place of: the number of entries to be added, NO_ENTRY to be left out.
static uint32_t place_of(const struct tw_context* context, const struct tw_cell* cell, const struct tw_touch* touch,
                         struct tw_entry entry) {
    uint32_t same[2] = {0}, found = 0;
    for (uint32_t i = 0; i < cell->count; ++i) {
        const struct tw_entry old = cell->entries[i];
        if (old.site != entry.site || tw_is_pending(old) || tw_is_pending(entry)) continue;
        if ((old.who & ~(15 << 10)) == (entry.who & ~(15 << 10)) && !(tw_bytes_of(old) & ~tw_bytes_of(entry))) return i;
        if (!(tw_bytes_of(old) & tw_bytes_of(entry))) continue;
        if (found < 2) same[found] = i;
        found += 1;
    }
    if (found < 2) return cell->count;
    for (uint32_t i = 0; i < 2; ++i)
        if (is_known(context, touch, cell->entries[same[i]])) return same[i];
    const uint32_t one = warp_of(cell->entries[same[0]]), other = warp_of(cell->entries[same[1]]);
    return one == other && warp_of(entry) != one ? same[1] : NO_ENTRY;
}

static void remember(const struct tw_context* context, struct tw_cell* cell, const struct tw_touch* touch) {
    const struct tw_entry entry = entry_of(context, touch);
    uint32_t place = place_of(context, cell, touch, entry);
    if (place == NO_ENTRY) return;
    for (uint32_t i = 0; place == TW_ENTRIES && i < cell->count; ++i)
        if (!tw_is_pending(cell->entries[i]) && is_known(context, touch, cell->entries[i])) place = i;
    if (place == TW_ENTRIES) {  // the oldest goes
        for (uint32_t i = 1; i < TW_ENTRIES; ++i) cell->entries[i - 1] = cell->entries[i];
        place = TW_ENTRIES - 1;
    }
    if (place == cell->count) cell->count += 1;
    cell->entries[place] = entry;
}

static int has_pending(const struct tw_cell* cell, uint32_t bytes) {
    for (uint32_t i = 0; i < cell->count; ++i)
        if (tw_is_pending(cell->entries[i]) && tw_bytes_of(cell->entries[i]) & bytes) return 1;
    return 0;
}

// What a thread read from a word counts for nothing before its compare and swap has found the word unchanged.
static void note_compared(const struct tw_context* context, const struct tw_touch* touch, struct tw_entry entry, uint32_t traits) {
    const int is_plain_read = !(traits & (TW_WRITES | TW_STRONG));
    if (touch->traits & TW_COMPARES && is_plain_read && tw_thread_of(entry) == touch->thread) context->watch->compared[entry.site] = 1;
}

// One lane's access to a word of shared memory; returns the bytes that it reads and nobody has written.
uint32_t tw_touch_shared(struct tw_context* context, struct tw_cell* cell, const struct tw_touch* touch) {
    bring_up(context, cell, touch);
    note_earlier(context, cell, touch);
    for (uint32_t i = 0; i < cell->count; ++i) {
        const struct tw_entry entry = cell->entries[i];
        const uint32_t traits = traits_in(context, TW_SHARED, entry.site);
        note_compared(context, touch, entry, traits);
        if (!can_conflict(traits, touch, entry, 1)) continue;
        if (tw_is_pending(entry) || !is_known(context, touch, entry))
            report(context, touch, entry, context->block->number, context->block->order->era);
    }
    remember(context, cell, touch);
    const uint32_t missing = touch->traits & TW_READS && !has_pending(cell, touch->bytes) ? touch->bytes & ~cell->valid : 0;
    if (touch->traits & TW_WRITES) cell->valid |= (uint8_t)touch->bytes;
    return missing;
}

// A copy is carried out: from now on it is a write of its thread like any other.
void tw_settle_copy(struct tw_context* context, struct tw_cell* cell, const struct tw_touch* touch) {
    bring_up(context, cell, touch);
    for (uint32_t i = 0; i < cell->count; ++i) {
        struct tw_entry* entry = &cell->entries[i];
        if (tw_is_pending(*entry) && entry->site == touch->site && tw_thread_of(*entry) == touch->thread) *entry = entry_of(context, touch);
    }
}

// -- global memory

static int is_global_known(const struct tw_context* context, const struct tw_touch* touch, const struct tw_global_entry* old) {
    return tw_is_known(context, TW_STRICT, touch->thread, old->block, old->era, old->entry);
}

// Leaves out what a new access stands for as well: what comes before it, but for writes before a read.
static void thin_out(const struct tw_context* context, struct tw_global_cell* cell, const struct tw_touch* touch) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < cell->count; ++i) {
        const struct tw_global_entry old = cell->entries[i];
        const uint32_t traits = traits_in(context, TW_GLOBAL, old.entry.site);
        const int stands_for = (touch->traits & TW_WRITES || !(traits & TW_WRITES)) && (!(touch->traits & TW_STRONG) || traits & TW_STRONG);
        const int inside = !(tw_bytes_of(old.entry) & ~touch->bytes);
        if (!stands_for || !inside || !is_global_known(context, touch, &old)) cell->entries[kept++] = old;
    }
    cell->count = kept;
}

static void remember_global(const struct tw_context* context, struct tw_global_cell* cell, const struct tw_touch* touch) {
    thin_out(context, cell, touch);
    uint32_t same = 0;
    for (uint32_t i = 0; i < cell->count; ++i) same += cell->entries[i].entry.site == touch->site;
    if (same >= 2) return;
    uint32_t place = cell->count;
    if (place == TW_GLOBAL_ENTRIES) {  // a read goes, or the oldest
        place = 0;
        for (uint32_t i = TW_GLOBAL_ENTRIES; i-- > 0;)
            if (!(traits_in(context, TW_GLOBAL, cell->entries[i].entry.site) & TW_WRITES)) place = i;
        cell->count -= 1;
    }
    cell->count += 1;
    const struct tw_block* block = context->block;
    cell->entries[place] = (struct tw_global_entry){(uint32_t)block->number, block->order->era, entry_of(context, touch)};
}

// Whether the last atomic on a word comes before an access. Then all atomics on it do: each of them came before the last one in the word's
// own order, for which threads need no fences. So the block that draws the last ticket may set the counter back.
static int follows_updates(const struct tw_context* context, const struct tw_global_cell* cell, const struct tw_touch* touch) {
    if (!cell->updated_by) return 0;
    const struct tw_entry entry = {.clock = cell->updated_clock, .who = (uint16_t)(cell->updated_by - 1)};
    return tw_is_known(context, TW_STRICT, touch->thread, cell->updated_block, cell->updated_era, entry);
}

static void note_update(const struct tw_context* context, struct tw_global_cell* cell, const struct tw_touch* touch) {
    if ((touch->traits & TW_UPDATES) == 0) return;
    cell->updated_block = (uint32_t)context->block->number;
    cell->updated_era = context->block->order->era;
    cell->updated_clock = entry_of(context, touch).clock;
    cell->updated_by = (uint16_t)(touch->thread + 1);
}

// One lane's access to a word of a buffer.
void tw_touch_global(struct tw_context* context, struct tw_global_cell* cell, const struct tw_touch* touch) {
    const int is_behind_updates = follows_updates(context, cell, touch);
    for (uint32_t i = 0; i < cell->count; ++i) {
        const struct tw_global_entry old = cell->entries[i];
        const int is_same_block = old.block == context->block->number;
        const uint32_t traits = traits_in(context, TW_GLOBAL, old.entry.site);
        if (is_same_block) note_compared(context, touch, old.entry, traits);
        if (!can_conflict(traits, touch, old.entry, is_same_block) || (traits & TW_UPDATES && is_behind_updates)) continue;
        if (!is_global_known(context, touch, &old))
            report(context, touch, old.entry, old.block, old.era);
        else if (is_same_block && old.era < context->block->order->era)
            note_barrier(context, touch, old.entry, old.era);
    }
    remember_global(context, cell, touch);
    note_update(context, cell, touch);
}
