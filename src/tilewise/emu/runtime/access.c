// One access, lane by lane: bounds, alignment, the bytes themselves. Compiled kernels come here with the lanes' addresses when not all
// lanes are active, when a quick check failed, or when lanes may be in different state spaces.
#include <string.h>

#include "tilewise.h"

enum { LOCAL_WORD = 4 };

struct tw_buffer* tw_find_buffer(const struct tw_context* context, uint64_t address, uint64_t bytes) {
    for (uint64_t i = 0; i < context->buffer_count; ++i) {
        struct tw_buffer* buffer = &context->buffers[i];
        if (address >= buffer->low && address < buffer->high) return buffer->high - address >= bytes ? buffer : 0;
    }
    return 0;
}

enum tw_space tw_space_of(uint64_t address) {
    if (address - TW_SHARED_WINDOW < TW_WINDOW_BYTES) return TW_SHARED;
    if (address - TW_LOCAL_WINDOW < TW_WINDOW_BYTES) return TW_LOCAL;
    return TW_GLOBAL;
}

static int is_inside(uint64_t offset, uint64_t bytes, uint64_t size) { return offset <= size && size - offset >= bytes; }

// Makes a range-cache entry hold the buffer that an access falls in or, by a generic address, the shared memory.
uint32_t tw_resolve(struct tw_context* context, uint32_t group, uint64_t address, uint64_t extent, uint32_t is_store, uint32_t is_generic) {
    struct tw_range* range = &context->ranges[group];
    if (is_generic && tw_space_of(address) == TW_SHARED) {
        if (!is_inside(address - TW_SHARED_WINDOW, extent, context->shared_bytes)) return 0;
        *range = (struct tw_range){TW_SHARED_WINDOW, context->shared_bytes - extent + 1,
                                   (uint64_t)(uintptr_t)context->shared - TW_SHARED_WINDOW, TW_SHARED};
        return 1;
    }
    struct tw_buffer* buffer = tw_find_buffer(context, address, extent);
    if (!buffer || (is_store && !buffer->writable)) return 0;
    if (context->screen) tw_screen_buffer(context, buffer, is_store ? TW_WRITES : TW_READS);
    *range = (struct tw_range){buffer->low, buffer->high - buffer->low - extent + 1, buffer->delta, buffer->space};
    return 1;
}

static int is_within(const struct tw_buffer* buffer, uint64_t address, uint64_t bytes) {
    return address >= buffer->low && address < buffer->high && buffer->high - address >= bytes;
}

// Finds a lane's bytes; returns the kind of fault, or -1 if there is none.
int tw_locate(const struct tw_context* context, const struct tw_site* site, uint64_t address, struct tw_place* place) {
    const uint64_t bytes = (uint64_t)site->element_bytes * site->elements;
    enum tw_space space = (enum tw_space)site->space;
    uint64_t offset = address;
    if (address & (bytes - 1)) return TW_MISALIGNED;  // a power of two
    if (space == TW_GENERIC || space == TW_LOCAL) {
        const enum tw_space found = tw_space_of(address);
        if (space == TW_LOCAL && found != TW_LOCAL) return TW_OUT_OF_BOUNDS;
        space = found;
        offset -= space == TW_SHARED ? TW_SHARED_WINDOW : space == TW_LOCAL ? TW_LOCAL_WINDOW : 0;
    }
    place->space = space;
    if (space == TW_SHARED) {
        place->bytes = context->shared + offset;
        return is_inside(offset, bytes, context->shared_bytes) ? -1 : TW_OUT_OF_BOUNDS;
    }
    if (space == TW_LOCAL) {
        place->bytes = 0;
        place->offset = offset;
        return is_inside(offset, bytes, context->local_bytes) ? -1 : TW_OUT_OF_BOUNDS;
    }
    struct tw_buffer* buffer = place->buffer;  // of the lane before, mostly this one's too
    if (!buffer || !is_within(buffer, address, bytes)) buffer = tw_find_buffer(context, address, bytes);
    if (!buffer) return TW_OUT_OF_BOUNDS;
    place->buffer = buffer;
    if (site->is_store && !buffer->writable) return TW_READ_ONLY;
    place->bytes = (uint8_t*)(uintptr_t)(address + buffer->delta);
    return -1;
}

// Copies between a lane's local memory, whose words stand 32 lanes apart, and plain bytes.
static void copy_local(const struct tw_context* context, uint64_t offset, uint32_t lane, uint8_t* bytes, uint32_t size, uint32_t is_store) {
    while (size) {
        const uint32_t part = size < LOCAL_WORD ? size : LOCAL_WORD;
        uint8_t* word = context->local + (offset / LOCAL_WORD * TW_LANES + lane) * LOCAL_WORD + offset % LOCAL_WORD;
        memcpy(is_store ? word : bytes, is_store ? bytes : word, part);
        offset += part;
        bytes += part;
        size -= part;
    }
}

// Reads a lane's bytes at a generic address; returns whether they are there.
int tw_read(const struct tw_context* context, uint32_t lane, uint64_t address, void* bytes, uint32_t size) {
    const struct tw_site site = {.space = TW_GENERIC, .element_bytes = size, .elements = 1};
    struct tw_place place = {0};
    if (tw_locate(context, &site, address, &place) >= 0) return 0;
    if (place.bytes)
        memcpy(bytes, place.bytes, size);
    else
        copy_local(context, place.offset, lane, bytes, size, 0);
    return 1;
}

static void transfer(struct tw_context* context, const struct tw_site* site, const struct tw_place* place, uint32_t lane) {
    const uint32_t size = site->element_bytes;
    for (uint32_t element = 0; element < site->elements; ++element) {
        uint8_t* value = context->values + ((uint64_t)element * TW_LANES + lane) * size;
        const uint64_t moved = (uint64_t)element * size;
        if (!place->bytes)
            copy_local(context, place->offset + moved, lane, value, size, site->is_store);
        else if (site->is_store)
            memcpy(place->bytes + moved, value, size);
        else
            memcpy(value, place->bytes + moved, size);
    }
}

void tw_access(struct tw_context* context, struct tw_warp* warp, uint32_t site_index, uint32_t mask, uint32_t counted) {
    if (!mask) return;
    if (!counted) tw_count(context, site_index, mask);
    tw_watch_instruction(context, site_index);
    const struct tw_site* site = &context->sites[site_index];
    struct tw_place place = {0};
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        const uint32_t lane = (uint32_t)__builtin_ctz(rest);
        const int fault = tw_locate(context, site, context->addresses[lane], &place);
        if (fault < 0) {
            if (context->watch) tw_watch_lane(context, site_index, lane, context->addresses[lane], &place);
            if (context->screen) tw_screen_lane(context, site_index, lane, &place);
            transfer(context, site, &place, lane);
            continue;
        }
        tw_report(context, warp, site->is_stack ? TW_STACK_OVERFLOW : (enum tw_fault_kind)fault, site_index, lane,
                  context->addresses[lane]);
        if (site->is_stack) *context->stop = 1;
        for (uint32_t element = 0; element < site->elements && !site->is_store; ++element)  // a reported access is masked off
            memset(context->values + ((uint64_t)element * TW_LANES + lane) * site->element_bytes, 0, site->element_bytes);
    }
}
