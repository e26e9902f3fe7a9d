// One access, lane by lane: bounds, alignment, the bytes themselves. Compiled kernels come here with the lanes' addresses when not all
// lanes are active or when a quick check failed.
#include <string.h>

#include "tilewise.h"

const struct tw_buffer* tw_find_buffer(const struct tw_context* context, uint64_t address, uint64_t bytes) {
    for (uint64_t i = 0; i < context->buffer_count; ++i) {
        const struct tw_buffer* buffer = &context->buffers[i];
        if (address >= buffer->low && address < buffer->high) return buffer->high - address >= bytes ? buffer : 0;
    }
    return 0;
}

uint32_t tw_resolve(struct tw_context* context, uint32_t group, uint64_t address, uint64_t extent, uint32_t is_store) {
    const struct tw_buffer* buffer = tw_find_buffer(context, address, extent);
    if (!buffer || (is_store && !buffer->writable)) return 0;
    struct tw_range* range = &context->ranges[group];
    range->low = buffer->low;
    range->starts = buffer->high - buffer->low - extent + 1;
    range->delta = buffer->delta;
    return 1;
}

// Where a lane's bytes stand in this process, or 0 after reporting why there are none.
static uint8_t* locate(struct tw_context* context, const struct tw_warp* warp, uint32_t site_index, uint32_t lane) {
    const struct tw_site* site = &context->sites[site_index];
    const uint64_t address = context->addresses[lane], bytes = (uint64_t)site->element_bytes * site->elements;
    if (address % bytes) {
        tw_report(context, warp, TW_MISALIGNED, site_index, lane, address);
        return 0;
    }
    if (site->space == TW_SHARED) {
        if (address <= context->shared_bytes && context->shared_bytes - address >= bytes) return context->shared + address;
        tw_report(context, warp, TW_OUT_OF_BOUNDS, site_index, lane, address);
        return 0;
    }
    const struct tw_buffer* buffer = tw_find_buffer(context, address, bytes);
    if (!buffer || (site->is_store && !buffer->writable)) {
        tw_report(context, warp, buffer ? TW_READ_ONLY : TW_OUT_OF_BOUNDS, site_index, lane, address);
        return 0;
    }
    return (uint8_t*)(uintptr_t)(address + buffer->delta);
}

void tw_access(struct tw_context* context, struct tw_warp* warp, uint32_t site_index, uint32_t mask, uint32_t counted) {
    if (!mask) return;
    if (!counted) tw_count(context, site_index, mask);
    const struct tw_site* site = &context->sites[site_index];
    const uint32_t size = site->element_bytes;
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        const uint32_t lane = (uint32_t)__builtin_ctz(rest);
        uint8_t* bytes = locate(context, warp, site_index, lane);
        for (uint32_t element = 0; element < site->elements; ++element) {
            uint8_t* value = context->values + ((uint64_t)element * TW_LANES + lane) * size;
            if (!bytes) {
                if (!site->is_store) memset(value, 0, size);  // a reported access is masked off
            } else if (site->is_store) {
                memcpy(bytes + (uint64_t)element * size, value, size);
            } else {
                memcpy(value, bytes + (uint64_t)element * size, size);
            }
        }
    }
}
