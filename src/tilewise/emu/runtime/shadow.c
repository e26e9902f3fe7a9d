// Watching a launch: what each lane accesses is held against what was remembered of the same words.
#include "shadow.h"

#include <stdlib.h>
#include <string.h>

enum { WORD = 4, PAGE_WORDS = 1024 };

// Words of local memory of all threads of a block.
static uint64_t local_words(const struct tw_context* context) { return context->local_bytes / WORD * TW_LANES * context->warp_count; }

void tw_watch_start(struct tw_context* context, struct tw_block* block) {
    if (context->screen) tw_screen_start(context);
    if (!context->watch && !context->screen) return;
    if (!block->local_written) block->local_written = malloc(local_words(context) + 1);
    if (!block->local_written) abort();
    memset(block->local_written, 0, local_words(context));
    if (!context->watch) return;
    if (!block->order) {
        block->order = tw_make_order(context);
        block->cells = calloc(context->shared_bytes / WORD + 1, sizeof *block->cells);
        if (!block->cells) abort();
    }
    tw_reset_order(context, block->order);
}

void tw_watch_free(struct tw_context* context, struct tw_block* block) {
    free(block->local_written);
    if (context->screen) tw_screen_free(context->screen);
    if (!context->watch) return;
    tw_free_order(context, block->order);
    free(block->cells);
    tw_free_locations(context->watch);
    for (uint64_t i = 0; i < context->buffer_count; ++i) {
        struct tw_buffer* buffer = &context->buffers[i];
        const uint64_t pages = (buffer->high - buffer->low) / (WORD * PAGE_WORDS) + 1;
        for (uint64_t page = 0; buffer->pages && page < pages; ++page) free(buffer->pages[page]);
        free(buffer->pages);
        buffer->pages = 0;
    }
}

// The running warp carries out an instruction.
void tw_watch_instruction(struct tw_context* context, uint32_t site) {
    if (!context->watch) return;
    struct tw_order* order = context->block->order;
    order->sequence[context->warp_index] += 1;
    const uint64_t index = context->warp_index * context->watch->site_count + site;
    order->executed[index] += 1;
    order->latest[index] = (uint64_t)order->era << 32 | order->sequence[context->warp_index];
}

// -- loads of what nobody has written

static void report_unwritten(struct tw_context* context, enum tw_space space, uint32_t site, uint32_t thread, uint64_t address) {
    struct tw_watch* watch = context->watch;
    for (uint64_t i = 0; i < watch->unwritten_count; ++i) {
        struct tw_unwritten* known = &watch->unwritten[i];
        if (known->site != site || known->space != space) continue;
        known->count += 1;
        return;
    }
    if (watch->unwritten_count == watch->unwritten_capacity) {
        watch->lost += 1;
        return;
    }
    const uint32_t iteration = context->block->order->executed[thread / TW_LANES * watch->site_count + site];
    watch->unwritten[watch->unwritten_count++] = (struct tw_unwritten){.space = space,
                                                                       .site = site,
                                                                       .thread = thread,
                                                                       .iteration = iteration,
                                                                       .block = context->block->number,
                                                                       .address = address,
                                                                       .count = 1};
}

// Whether a range of a buffer has been written; `mark` says it is now.
static int is_written(const struct tw_buffer* buffer, uint64_t offset, uint64_t bytes, int mark) {
    int all = 1;
    for (uint64_t i = offset; i < offset + bytes; ++i) {
        all &= buffer->written[i / 8] >> i % 8 & 1;
        if (mark) buffer->written[i / 8] |= (uint8_t)(1u << i % 8);
    }
    return all;
}

// -- words

// The part of word number `word` that lies in bytes first..end: a bit a byte.
static uint32_t part_of(uint64_t word, uint64_t first, uint64_t end) {
    uint32_t bytes = 0;
    for (uint64_t i = 0; i < WORD; ++i) bytes |= (uint32_t)(word * WORD + i >= first && word * WORD + i < end) << i;
    return bytes;
}

// Whether a lane stores what stands there already, of the bytes from `from` on.
static uint32_t stores_same(const struct tw_context* context, const struct tw_site* site, uint32_t lane, const uint8_t* place,
                            uint64_t from, uint32_t bytes) {
    if (site->traits & TW_STRONG) return 0;
    for (uint32_t rest = bytes; rest; rest &= rest - 1) {
        const uint64_t i = from + (uint32_t)__builtin_ctz(rest);
        const uint64_t element = i / site->element_bytes, byte = i % site->element_bytes;
        if (context->values[(element * TW_LANES + lane) * site->element_bytes + byte] != place[i]) return 0;
    }
    return 1;
}

static void watch_shared(struct tw_context* context, struct tw_touch* touch, uint64_t first, uint64_t end, const uint8_t* place,
                         uint32_t lane) {
    const struct tw_site* site = &context->sites[touch->site];
    uint32_t missing = 0;
    for (uint64_t word = first / WORD; word * WORD < end; ++word) {
        touch->bytes = part_of(word, first, end);
        touch->address = word * WORD;
        touch->same_value = touch->traits & TW_WRITES && !(touch->traits & TW_COPIES)
                                ? stores_same(context, site, lane, place, word * WORD - first, touch->bytes)
                                : 0;
        missing |= tw_touch_shared(context, &context->block->cells[word], touch);
    }
    if (missing) report_unwritten(context, TW_SHARED, touch->site, touch->thread, first);
}

static struct tw_global_cell* cell_of(struct tw_buffer* buffer, uint64_t word) {
    const uint64_t page = word / PAGE_WORDS;
    if (!buffer->pages) buffer->pages = calloc((buffer->high - buffer->low) / (WORD * PAGE_WORDS) + 1, sizeof *buffer->pages);
    if (!buffer->pages) abort();
    if (!buffer->pages[page]) buffer->pages[page] = calloc(1, sizeof **buffer->pages);
    if (!buffer->pages[page]) abort();
    return &buffer->pages[page]->cells[word % PAGE_WORDS];
}

static void watch_global(struct tw_context* context, struct tw_touch* touch, struct tw_buffer* buffer, uint64_t address, uint64_t bytes,
                         const uint8_t* place, uint32_t lane) {
    const struct tw_site* site = &context->sites[touch->site];
    const uint64_t first = address - buffer->low, end = first + bytes;
    if (touch->traits & TW_WRITES && !buffer->is_shadowed) {  // until now nobody wrote it: reads were no matter
        context->watch->again |= buffer->touched & TW_READS;
        buffer->is_shadowed = 1;
    }
    buffer->touched |= touch->traits & (TW_READS | TW_WRITES);
    if (buffer->written) {
        const int all = is_written(buffer, first, bytes, (touch->traits & TW_WRITES) != 0);
        if (touch->traits & TW_WRITES) buffer->stores[touch->site] = 1;
        if (!all && touch->traits & (TW_READS | TW_UPDATES)) report_unwritten(context, TW_GLOBAL, touch->site, touch->thread, address);
    }
    for (uint64_t word = first / WORD; buffer->is_shadowed && word * WORD < end; ++word) {
        touch->bytes = part_of(word, first, end);
        touch->address = buffer->low + word * WORD;
        touch->same_value = touch->traits & TW_WRITES ? stores_same(context, site, lane, place, word * WORD - first, touch->bytes) : 0;
        tw_touch_global(context, cell_of(buffer, word), touch);
    }
}

// Whether a lane loads words of local memory of which it has written nothing: reading part of a word is not held against a thread that has
// written another part of it.
int tw_touch_local(struct tw_context* context, uint32_t site, uint32_t lane, uint64_t first) {
    const struct tw_site* facts = &context->sites[site];
    const uint64_t end = first + (uint64_t)facts->element_bytes * facts->elements;
    uint32_t missing = 0;
    if (facts->is_stack) return 0;
    for (uint64_t word = first / WORD; word * WORD < end; ++word) {
        uint8_t* written = &context->local_written[word * TW_LANES + lane];
        const uint32_t bytes = part_of(word, first, end);
        missing |= !(*written & bytes);
        if (facts->traits & TW_WRITES) *written |= (uint8_t)bytes;
    }
    return missing && facts->traits & TW_READS && !(facts->traits & TW_ONLY_MOVES);
}

// Lanes load, at one offset in local memory, words of which they have written nothing.
void tw_local_read(struct tw_context* context, struct tw_warp* warp, uint32_t site, uint32_t mask, uint64_t offset) {
    (void)warp;
    if (context->screen) tw_suspect(context);
    for (uint32_t rest = context->watch ? mask : 0; rest; rest &= rest - 1)
        report_unwritten(context, TW_LOCAL, site, TW_LANES * context->warp_index + (uint32_t)__builtin_ctz(rest), offset);
}

// Where flags and atomics meet: of shared memory, one place a block.
static uint64_t location_of(const struct tw_context* context, enum tw_space space, uint64_t address) {
    return space == TW_SHARED ? 1ull << 63 | context->block->number << 24 | address : address;
}

// A lane is about to carry out its part of an access that is known to be good.
void tw_watch_lane(struct tw_context* context, uint32_t site, uint32_t lane, uint64_t address, const struct tw_place* place) {
    const struct tw_site* facts = &context->sites[site];
    const uint64_t bytes = (uint64_t)facts->element_bytes * facts->elements;
    struct tw_touch touch = {.thread = TW_LANES * context->warp_index + lane, .site = site, .traits = facts->traits, .space = place->space};
    if (place->space == TW_SHARED) {
        address = (uint64_t)(place->bytes - context->shared);
        watch_shared(context, &touch, address, address + bytes, place->bytes, lane);
    } else if (place->space == TW_GLOBAL) {
        watch_global(context, &touch, place->buffer, address, bytes, place->bytes, lane);
    } else if (place->space == TW_LOCAL) {
        if (tw_touch_local(context, site, lane, place->offset)) report_unwritten(context, TW_LOCAL, site, touch.thread, place->offset);
        return;
    }
    if (facts->traits & TW_STRONG) tw_synchronise(context, lane, location_of(context, place->space, address), facts->traits);
}

// -- lanes that meet

// A lane waits for those of `absent`, or goes on: returns lanes that it waited for, that had something else to do, and that have left the
// kernel since (of `gone`).
uint32_t tw_watch_meeting(struct tw_context* context, uint32_t lane, uint32_t absent, uint32_t leaving, uint32_t gone) {
    if (!context->watch) return 0;
    uint32_t* missed = &context->block->order->missed[TW_LANES * context->warp_index + lane];
    *missed |= absent & ~leaving;
    if (absent) return 0;
    const uint32_t lost = *missed & gone;
    *missed = 0;
    return lost;
}

// -- cp.async

static struct tw_touch copy_touch(const struct tw_context* context, uint32_t site, uint32_t lane) {
    return (struct tw_touch){.thread = TW_LANES * context->warp_index + lane,
                             .site = site,
                             .traits = TW_WRITES | TW_COPIES,
                             .is_pending = 1,
                             .space = TW_SHARED};
}

// A lane asks for a copy of `bytes` bytes, and zeros behind them up to `size`.
void tw_watch_copy(struct tw_context* context, uint32_t site, uint32_t lane, uint64_t source, uint32_t bytes, uint32_t target,
                   uint32_t size) {
    if (!context->watch) return;
    struct tw_touch read = {.thread = TW_LANES * context->warp_index + lane, .site = site, .traits = TW_READS, .space = TW_GLOBAL};
    struct tw_buffer* buffer = bytes ? tw_find_buffer(context, source, bytes) : 0;
    if (buffer) watch_global(context, &read, buffer, source, bytes, 0, lane);
    struct tw_touch write = copy_touch(context, site, lane);
    watch_shared(context, &write, target, (uint64_t)target + size, 0, lane);
}

// It has been carried out.
void tw_watch_copied(struct tw_context* context, uint32_t site, uint32_t lane, uint32_t target, uint32_t size) {
    if (!context->watch) return;
    struct tw_touch touch = copy_touch(context, site, lane);
    touch.is_pending = 0;
    for (uint64_t word = target / WORD; word * WORD < (uint64_t)target + size; ++word) {
        touch.bytes = part_of(word, target, (uint64_t)target + size);
        tw_settle_copy(context, &context->block->cells[word], &touch);
    }
}

// The lane that `lane` reads from in a shuffle [PTX ISA, "shfl.sync"]; itself if that is out of range. Modes: up, down, bfly, idx.
static uint32_t source_lane(uint32_t mode, uint32_t lane, uint32_t b, uint32_t c) {
    const uint32_t segment = c >> 8 & 31, last = (lane & segment) | (c & 31 & ~segment), distance = b & 31;
    const int32_t sources[] = {(int32_t)lane - (int32_t)distance, (int32_t)(lane + distance), (int32_t)(lane ^ distance),
                               (int32_t)((lane & segment) | (distance & ~segment))};
    const int in_range = mode == 0 ? sources[0] >= (int32_t)last : sources[mode] <= (int32_t)last;
    return in_range ? (uint32_t)sources[mode] : lane;
}

// Lanes name those that an instruction is for (values: 32 masks): reports those that leave themselves out.
void tw_named(struct tw_context* context, struct tw_warp* warp, uint32_t site, uint32_t mask) {
    const uint32_t* named = (const uint32_t*)(const void*)context->values;
    uint32_t left_out = 0;
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        const uint32_t lane = (uint32_t)__builtin_ctz(rest);
        left_out |= (named[lane] >> lane & 1 ? 0u : 1u) << lane;
    }
    if (!left_out) return;
    const uint32_t first = (uint32_t)__builtin_ctz(left_out);
    struct tw_fault* fault = tw_report(context, warp, TW_NOT_NAMED, site, first, named[first]);
    if (fault && fault->count == 1) fault->mask = left_out;
}

// Some lanes of a warp shuffle: reports those that read from lanes which they name and which take no part. values: 32 operands b, then
// 32 operands c and 32 masks of lanes that are to take part.
void tw_shuffle(struct tw_context* context, struct tw_warp* warp, uint32_t site, uint32_t mask, uint32_t mode) {
    const uint32_t* values = (const uint32_t*)(const void*)context->values;
    uint32_t readers = 0, absent = 0;
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        const uint32_t lane = (uint32_t)__builtin_ctz(rest), source = source_lane(mode, lane, values[lane], values[TW_LANES + lane]);
        if (mask >> source & 1 || !(values[2 * TW_LANES + lane] >> source & 1)) continue;
        readers |= 1u << lane;
        absent |= 1u << source;
    }
    if (!readers) return;
    struct tw_fault* fault = tw_report(context, warp, TW_READS_ABSENT, site, (uint32_t)__builtin_ctz(readers), absent);
    if (fault && fault->count == 1) fault->mask = readers;
}
