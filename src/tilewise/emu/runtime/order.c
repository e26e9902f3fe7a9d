// Which accesses happen before which. A barrier for all threads of a block ends an era: all of an era comes before all of later ones.
// Within an era, and between blocks, each thread has a clock, and knows up to which clock it comes behind each other thread: from barriers
// for some threads, __syncwarp, and what fences and the accesses behind them let it know.
#include <stdlib.h>
#include <string.h>

#include "shadow.h"

enum { CLOCK_END = UINT16_MAX, LOCATIONS = 1 << 14 };

static const uint32_t MANY_SITES = UINT32_MAX;

// -- what threads let others know

// What a thread knew and had done at its clock in an era, with what its block knows.
static struct tw_knowledge* content_of(const struct tw_context* context, uint32_t thread, uint32_t kind, struct tw_knowledge* knowledge,
                                       uint32_t era, uint32_t clock) {
    struct tw_clocks* clocks = tw_make_clocks(context->threads);
    clocks->of[thread] = clock;
    struct tw_knowledge* own = tw_know_clocks(context->block->number, era, clocks);
    tw_learn(&own, knowledge, context->threads);
    tw_learn(&own, context->block->order->knowledge[kind], context->threads);
    return own;
}

static void go_on(struct tw_thread* thread) { thread->clock += thread->clock < CLOCK_END; }

// What lanes of the running warp know and have done.
static struct tw_knowledge* publish(const struct tw_context* context, uint32_t lanes, uint32_t kind) {
    struct tw_thread* threads = context->block->order->threads + TW_LANES * context->warp_index;
    struct tw_clocks* clocks = tw_make_clocks(context->threads);
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
        const uint32_t lane = (uint32_t)__builtin_ctz(rest);
        clocks->of[TW_LANES * context->warp_index + lane] = threads[lane].clock;
    }
    struct tw_knowledge* all = tw_know_clocks(context->block->number, context->block->order->era, clocks);
    const struct tw_knowledge* last = 0;
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
        struct tw_knowledge* more = threads[__builtin_ctz(rest)].knowledge[kind];
        if (more != last) tw_learn(&all, more, context->threads);
        last = more;
    }
    return all;
}

static void teach(struct tw_context* context, uint64_t warp, uint32_t lanes, uint32_t kind, struct tw_knowledge* knowledge) {
    struct tw_order* order = context->block->order;
    for (uint32_t rest = knowledge ? lanes : 0; rest; rest &= rest - 1) {
        const uint64_t thread = TW_LANES * warp + (uint32_t)__builtin_ctz(rest);
        tw_learn(&order->threads[thread].knowledge[kind], knowledge, context->threads);
        order->has_knowledge = 1;
    }
}

// Where a thread keeps what it is handed: behind a barrier a thread may raise the flag for data that others have fenced, or fence for a
// flag that another has seen.
static struct tw_knowledge** handed_place(struct tw_thread* thread, enum tw_handed what) {
    return what == TW_FENCED ? &thread->fenced[1].knowledge : &thread->seen[1];
}

// Makes a thread know what it has seen in flags and atomics of its block (0) or of others (1).
static void take_in(const struct tw_context* context, struct tw_thread* thread, uint32_t scope) {
    if (!thread->seen[scope]) return;
    tw_learn(&thread->knowledge[TW_STRICT], thread->seen[scope], context->threads);
    tw_replace(&thread->seen[scope], 0);
    context->block->order->has_knowledge = 1;
}

// What lanes of a warp have fenced, or seen in flags of other blocks, by themselves or by what they were handed; 0 if nothing.
static struct tw_knowledge* handed_by(const struct tw_context* context, uint64_t warp, uint32_t lanes, enum tw_handed what) {
    struct tw_thread* threads = context->block->order->threads + TW_LANES * warp;
    struct tw_knowledge* all = 0;
    uint32_t era = 0;
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
        const struct tw_fenced* fenced = &threads[__builtin_ctz(rest)].fenced[1];
        if (what == TW_FENCED && fenced->clock && fenced->era > era) era = fenced->era;
    }
    if (era) {  // a fence in one era covers all earlier ones
        struct tw_clocks* clocks = tw_make_clocks(context->threads);
        for (uint32_t rest = lanes; rest; rest &= rest - 1) {
            const uint32_t lane = (uint32_t)__builtin_ctz(rest);
            if (threads[lane].fenced[1].era == era) clocks->of[TW_LANES * warp + lane] = threads[lane].fenced[1].clock;
        }
        all = tw_know_clocks(context->block->number, era, clocks);
    }
    const struct tw_knowledge* last = 0;
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
        struct tw_knowledge* more = *handed_place(&threads[__builtin_ctz(rest)], what);
        if (more != last) tw_learn(&all, more, context->threads);
        last = more;
    }
    return all;
}

static void hand(const struct tw_context* context, uint64_t warp, uint32_t lanes, enum tw_handed what, struct tw_knowledge* handed) {
    struct tw_thread* threads = context->block->order->threads + TW_LANES * warp;
    for (uint32_t rest = handed ? lanes : 0; rest; rest &= rest - 1)
        tw_learn(handed_place(&threads[__builtin_ctz(rest)], what), handed, context->threads);
}

// __syncwarp: each of the lanes comes behind all of them.
void tw_warp_sync(struct tw_context* context, struct tw_warp* warp, uint32_t mask, uint32_t unused) {
    (void)warp, (void)unused;
    if (!context->watch) return;
    struct tw_order* order = context->block->order;
    for (uint32_t kind = 0; kind < TW_KINDS; ++kind) {
        struct tw_knowledge* all = publish(context, mask, kind);
        teach(context, context->warp_index, mask, kind, all);
        tw_drop(all);
    }
    for (uint32_t what = 0; order->has_handed && what < TW_HANDED; ++what) {
        struct tw_knowledge* all = handed_by(context, context->warp_index, mask, what);
        hand(context, context->warp_index, mask, what, all);
        tw_drop(all);
    }
    for (uint32_t rest = mask; rest; rest &= rest - 1)
        go_on(&order->threads[TW_LANES * context->warp_index + (uint32_t)__builtin_ctz(rest)]);
}

// A fence: the thread knows from now on what it has seen; accesses behind it that others look at let them know what was before it.
void tw_fence(struct tw_context* context, struct tw_warp* warp, uint32_t mask, uint32_t is_of_block) {
    (void)warp;
    if (!context->watch) return;
    struct tw_order* order = context->block->order;
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        struct tw_thread* thread = &order->threads[TW_LANES * context->warp_index + (uint32_t)__builtin_ctz(rest)];
        for (uint32_t scope = 0; scope < (is_of_block ? 1 : 2); ++scope) take_in(context, thread, scope);
        for (uint32_t scope = 0; scope < (is_of_block ? 1 : 2); ++scope) {
            tw_replace(&thread->fenced[scope].knowledge, tw_keep(thread->knowledge[TW_STRICT]));
            thread->fenced[scope].era = order->era;
            thread->fenced[scope].clock = thread->clock;
        }
        order->has_handed |= !is_of_block;
        go_on(thread);
    }
}

// -- flags and atomics

// A place in memory by which threads let others know what they have done.
struct tw_location {
    uint64_t key, block;  // the block whose threads alone `knowledge` is for, if is_of_block
    uint32_t is_of_block, is_taken;
    struct tw_knowledge* knowledge[TW_KINDS];
};

struct tw_locations {
    uint64_t count, capacity;
    struct tw_location* slots;
};

static struct tw_location* slot_of(const struct tw_locations* locations, uint64_t key) {
    uint64_t at = key * 0x9e3779b97f4a7c15ull >> 20;
    while (locations->slots[at & (locations->capacity - 1)].is_taken && locations->slots[at & (locations->capacity - 1)].key != key) ++at;
    return &locations->slots[at & (locations->capacity - 1)];
}

static void grow(struct tw_locations* locations) {
    struct tw_locations larger = {locations->count, locations->capacity ? 2 * locations->capacity : 64, 0};
    larger.slots = tw_zeroed(larger.capacity * sizeof *larger.slots);
    for (uint64_t i = 0; i < locations->capacity; ++i)
        if (locations->slots[i].is_taken) *slot_of(&larger, locations->slots[i].key) = locations->slots[i];
    free(locations->slots);
    *locations = larger;
}

static struct tw_location* locate(struct tw_watch* watch, uint64_t key, int is_made) {
    if (!watch->locations) watch->locations = tw_zeroed(sizeof *watch->locations);
    struct tw_locations* locations = watch->locations;
    if (2 * locations->count >= locations->capacity) grow(locations);
    struct tw_location* location = slot_of(locations, key);
    if (location->is_taken) return location;
    if (!is_made) return 0;
    locations->count += 1;
    *location = (struct tw_location){.key = key, .is_taken = 1};
    return location;
}

void tw_free_locations(struct tw_watch* watch) {
    for (uint64_t i = 0; watch->locations && i < watch->locations->capacity; ++i)
        for (uint32_t kind = 0; kind < TW_KINDS; ++kind) tw_drop(watch->locations->slots[i].knowledge[kind]);
    if (watch->locations) free(watch->locations->slots);
    free(watch->locations);
    watch->locations = 0;
}

// A flag for other blocks: the barrier before it is needed, since others of the block may have written what the flag is about.
static void note_release(const struct tw_context* context) {
    const struct tw_order* order = context->block->order;
    if (order->run_site < context->watch->site_count) context->watch->orders[order->run_site] = 1;
}

// What a thread lets those know who see its value, if anything; says whether only threads of its block.
static struct tw_knowledge* release_of(const struct tw_context* context, uint32_t thread, uint32_t traits, uint32_t* is_of_block) {
    const struct tw_order* order = context->block->order;
    const struct tw_thread* own = &order->threads[thread];
    *is_of_block = (traits & TW_OF_BLOCK) != 0;
    if (traits & TW_RELEASES && !*is_of_block) note_release(context);
    if (traits & TW_RELEASES) return content_of(context, thread, TW_STRICT, own->knowledge[TW_STRICT], order->era, own->clock);
    const struct tw_fenced* fenced = &own->fenced[1];
    if (fenced->clock || fenced->knowledge) {
        note_release(context);
        return content_of(context, thread, TW_STRICT, fenced->knowledge, fenced->era, fenced->clock);
    }
    fenced = &own->fenced[0];
    *is_of_block = 1;
    return fenced->clock ? content_of(context, thread, TW_STRICT, fenced->knowledge, fenced->era, fenced->clock) : 0;
}

static void write_location(struct tw_context* context, struct tw_location* location, uint32_t thread, uint32_t traits, int is_weak_kept) {
    struct tw_thread* own = &context->block->order->threads[thread];
    uint32_t is_of_block;
    struct tw_knowledge* released = release_of(context, thread, traits, &is_of_block);
    struct tw_knowledge* weak = 0;
    if (is_weak_kept) weak = content_of(context, thread, TW_WEAK, own->knowledge[TW_WEAK], context->block->order->era, own->clock);
    if (traits & TW_UPDATES) {
        if (released) tw_learn(&released, location->knowledge[TW_STRICT], context->threads);
        if (weak) tw_learn(&weak, location->knowledge[TW_WEAK], context->threads);
    }
    if (released || !(traits & TW_UPDATES)) {
        tw_replace(&location->knowledge[TW_STRICT], released);
        location->is_of_block = is_of_block;
        location->block = context->block->number;
    }
    tw_replace(&location->knowledge[TW_WEAK], weak);
    go_on(own);
}

// A lane reads or writes a place that others do at the same time.
void tw_synchronise(struct tw_context* context, uint32_t lane, uint64_t key, uint32_t traits) {
    struct tw_watch* watch = context->watch;
    const uint32_t thread = TW_LANES * context->warp_index + lane;
    struct tw_location* location = locate(watch, key, (traits & TW_WRITES) != 0);
    if (!location) return;
    if (traits & TW_READS) {
        const int is_same_block = location->block == context->block->number;
        struct tw_thread* own = &context->block->order->threads[thread];
        if (is_same_block || !location->is_of_block) tw_learn(&own->seen[!is_same_block], location->knowledge[TW_STRICT], context->threads);
        context->block->order->has_handed |= own->seen[1] != 0;
        if (traits & TW_ACQUIRES) take_in(context, own, 0);
        if (traits & TW_ACQUIRES && !(traits & TW_OF_BLOCK)) take_in(context, own, 1);
        if (is_same_block || !location->is_of_block)
            teach(context, context->warp_index, 1u << lane, TW_RELEASED, location->knowledge[TW_STRICT]);
        teach(context, context->warp_index, 1u << lane, TW_WEAK, location->knowledge[TW_WEAK]);
    }
    if (traits & TW_WRITES) write_location(context, location, thread, traits, watch->locations->count <= LOCATIONS);
}

// -- barriers

// Lanes of the running warp come to a barrier. One that is for all threads of the block needs no more than that they come.
void tw_watch_arrival(struct tw_context* context, uint32_t barrier, uint32_t site, uint32_t lanes) {
    if (!context->watch || !lanes) return;
    struct tw_order* order = context->block->order;
    const uint32_t line = context->sites[site].traits;  // of the first site of its source line, + 1
    if (order->sites[barrier] != line) order->sites[barrier] = order->sites[barrier] ? MANY_SITES : line;
    if (!context->block->barriers[barrier].threads) return;
    for (uint32_t kind = 0; kind < TW_KINDS; ++kind) {
        struct tw_knowledge* all = publish(context, lanes, kind);
        tw_learn(&order->arrived[barrier][kind], all, context->threads);
        tw_drop(all);
    }
    for (uint32_t what = 0; order->has_handed && what < TW_HANDED; ++what) {
        struct tw_knowledge* all = handed_by(context, context->warp_index, lanes, what);
        tw_learn(&order->handed[barrier][what], all, context->threads);
        tw_drop(all);
    }
    for (uint32_t rest = lanes; rest; rest &= rest - 1)
        go_on(&order->threads[TW_LANES * context->warp_index + (uint32_t)__builtin_ctz(rest)]);
}

static void forget_arrivals(struct tw_order* order, uint32_t barrier) {
    for (uint32_t kind = 0; kind < TW_KINDS; ++kind) tw_replace(&order->arrived[barrier][kind], 0);
    for (uint32_t what = 0; what < TW_HANDED; ++what) tw_replace(&order->handed[barrier][what], 0);
}

// All threads of the block are handed what each of them has; none has less than all from then on.
static void hand_round(const struct tw_context* context, struct tw_order* order) {
    for (uint32_t what = 0; what < TW_HANDED; ++what) {
        struct tw_knowledge* all = 0;
        for (uint64_t i = 0; i < context->warp_count; ++i) {
            struct tw_knowledge* more = handed_by(context, i, UINT32_MAX, what);
            tw_learn(&all, more, context->threads);
            tw_drop(more);
        }
        for (uint64_t i = 0; i < context->warp_count; ++i) hand(context, i, UINT32_MAX, what, all);
        tw_drop(all);
    }
    order->has_handed = 0;
}

// All threads have waited at a barrier, at the instruction `site` or at several.
static void begin_era(const struct tw_context* context, struct tw_order* order, uint32_t site) {
    if (order->has_handed) hand_round(context, order);
    if (order->has_knowledge && site != MANY_SITES) context->watch->orders[site] = 1;  // it hands on what flags have told
    for (uint64_t i = 0; i < context->threads; ++i) {
        struct tw_thread* thread = &order->threads[i];
        thread->clock = 1;
        take_in(context, thread, 0);
        for (uint32_t kind = 0; order->has_knowledge && kind < TW_KINDS; ++kind) {
            tw_learn(&order->knowledge[kind], thread->knowledge[kind], context->threads);
            tw_replace(&thread->knowledge[kind], 0);
        }
    }
    order->has_knowledge = 0;
    memset(order->sequence, 0, sizeof order->sequence);
    if (site != order->run_site) order->run_start = order->era;
    order->run_site = site;
    order->era += 1;
    if (site != MANY_SITES) context->watch->passes[site] += 1;
}

// A warp passes a barrier: notes if others of its lanes have left the kernel, which nobody waited for.
static void note_missing(const struct tw_context* context, const struct tw_warp* warp, uint64_t index) {
    const uint64_t threads = context->threads - TW_LANES * index;
    const uint32_t all = threads >= TW_LANES ? UINT32_MAX : (1u << threads) - 1;
    struct tw_short* known = &context->watch->shorts[warp->wait_site];
    if (warp->live == all || known->count++) return;
    known->block = context->block->number;
    known->thread = (uint32_t)(TW_LANES * index) + (uint32_t)__builtin_ctz(warp->waiting);
}

// A barrier is complete; the warps that wait there have not gone on yet.
void tw_watch_barrier(struct tw_context* context, uint32_t barrier) {
    if (!context->watch) return;
    struct tw_order* order = context->block->order;
    uint32_t all = 1;
    for (uint64_t i = 0; i < context->warp_count; ++i) {
        const struct tw_warp* warp = tw_warp_at(context, i);
        const int waits = warp->counted && warp->barrier == barrier;
        all &= waits || warp->status == TW_EXITED;
        if (waits) note_missing(context, warp, i);
    }
    if (all) {
        begin_era(context, order, order->sites[barrier] == MANY_SITES ? MANY_SITES : order->sites[barrier] - 1);
    } else {
        for (uint64_t i = 0; i < context->warp_count; ++i) {
            const struct tw_warp* warp = tw_warp_at(context, i);
            if (!warp->counted || warp->barrier != barrier) continue;
            for (uint32_t kind = 0; kind < TW_KINDS; ++kind) teach(context, i, warp->waiting, kind, order->arrived[barrier][kind]);
            for (uint32_t what = 0; what < TW_HANDED; ++what) hand(context, i, warp->waiting, what, order->handed[barrier][what]);
        }
    }
    order->sites[barrier] = 0;
    forget_arrivals(order, barrier);
}

// -- one block

// Whether an access comes before all that a thread of the running block does from now on.
int tw_is_known(const struct tw_context* context, uint32_t kind, uint32_t thread, uint64_t block, uint32_t era, struct tw_entry entry) {
    const struct tw_order* order = context->block->order;
    if (block == context->block->number && (era < order->era || tw_thread_of(entry) == thread)) return 1;
    const struct tw_knowledge* sources[] = {order->threads[thread].knowledge[kind], order->knowledge[kind]};
    for (uint32_t i = 0; i < 2; ++i) {
        const struct tw_known* known = tw_known_of(sources[i], block);
        if (!known || known->era < era) continue;
        if (known->era > era || (known->clocks && known->clocks->of[tw_thread_of(entry)] >= entry.clock)) return 1;
    }
    return 0;
}

struct tw_order* tw_make_order(const struct tw_context* context) {
    const uint64_t threads = TW_LANES * context->warp_count;
    struct tw_order* order = tw_zeroed(sizeof *order + threads * sizeof *order->threads);
    order->missed = tw_zeroed(threads * sizeof *order->missed);
    order->executed = tw_zeroed(context->warp_count * context->watch->site_count * sizeof *order->executed);
    order->latest = tw_zeroed(context->warp_count * context->watch->site_count * sizeof *order->latest);
    return order;
}

static void forget(const struct tw_context* context, struct tw_order* order) {
    for (uint64_t i = 0; i < TW_LANES * context->warp_count; ++i) {
        struct tw_thread* thread = &order->threads[i];
        for (uint32_t kind = 0; kind < TW_KINDS; ++kind) tw_replace(&thread->knowledge[kind], 0);
        for (uint32_t scope = 0; scope < 2; ++scope) {
            tw_drop(thread->fenced[scope].knowledge);
            thread->fenced[scope] = (struct tw_fenced){0};
            tw_replace(&thread->seen[scope], 0);
        }
        thread->clock = 1;
    }
    for (uint32_t kind = 0; kind < TW_KINDS; ++kind) tw_replace(&order->knowledge[kind], 0);
    for (uint32_t barrier = 0; barrier < TW_BARRIERS; ++barrier) forget_arrivals(order, barrier);
}

// For a block that starts: eras go on from the last one's, so that what is remembered of its words counts no more.
void tw_reset_order(const struct tw_context* context, struct tw_order* order) {
    forget(context, order);
    order->era += 1;
    order->first_era = order->run_start = order->era;
    order->run_site = UINT32_MAX;
    order->has_knowledge = order->has_handed = 0;
    memset(order->sites, 0, sizeof order->sites);
    memset(order->sequence, 0, sizeof order->sequence);
    memset(order->missed, 0, TW_LANES * context->warp_count * sizeof *order->missed);
    memset(order->executed, 0, context->warp_count * context->watch->site_count * sizeof *order->executed);
}

void tw_free_order(const struct tw_context* context, struct tw_order* order) {
    if (!order) return;
    forget(context, order);
    free(order->missed);
    free(order->executed);
    free(order->latest);
    free(order);
}
