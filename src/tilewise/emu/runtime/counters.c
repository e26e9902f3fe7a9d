// Sectors and wavefronts of one request whose addresses are known only at run time.
#include "tilewise.h"

enum { SECTOR_BYTES = 32, BANKS = 32, WORD_BYTES = 4 };

// Distinct 32-byte sectors when lanes come in address order: one comparison a lane. 0 if they do not, or if one spans two sectors.
static uint32_t count_sectors_in_order(const uint64_t* addresses, uint32_t mask, uint32_t bytes) {
    uint32_t count = 0, in_order = 1;
    uint64_t last = 0;
    for (uint32_t lane = 0; lane < TW_LANES; ++lane) {
        if (!(mask >> lane & 1)) continue;
        const uint64_t sector = addresses[lane] / SECTOR_BYTES;
        in_order &= sector >= last && addresses[lane] % SECTOR_BYTES + bytes <= SECTOR_BYTES;
        count += sector != last || !count;
        last = sector;
    }
    return in_order ? count : 0;
}

// The same for lanes in any order: a table of those seen, looked up by their last bits.
uint32_t tw_count_sectors(const uint64_t* addresses, uint32_t mask, uint32_t bytes) {
    enum { CELLS = 4 * TW_LANES };
    const uint32_t in_order = count_sectors_in_order(addresses, mask, bytes);
    if (in_order) return in_order;
    uint64_t seen[CELLS], used[CELLS / 64] = {0};
    uint32_t count = 0;
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        const uint64_t address = addresses[__builtin_ctz(rest)];
        for (uint64_t sector = address / SECTOR_BYTES; sector <= (address + bytes - 1) / SECTOR_BYTES; ++sector) {
            uint32_t cell = (uint32_t)(sector ^ sector >> 7) % CELLS;
            while (used[cell / 64] >> cell % 64 & 1 && seen[cell] != sector) cell = (cell + 1) % CELLS;
            if (used[cell / 64] >> cell % 64 & 1) continue;
            used[cell / 64] |= 1ull << cell % 64;
            seen[cell] = sector;
            ++count;
        }
    }
    return count;
}

// The most distinct words of any one bank among the lanes of `mask`: the passes that they take together.
static uint32_t count_ways(const uint64_t* addresses, uint32_t mask, uint32_t bytes) {
    uint64_t words[TW_LANES * 2];
    uint8_t in_bank[BANKS] = {0};
    uint32_t count = 0, most = 0;
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        const uint64_t address = addresses[__builtin_ctz(rest)];
        for (uint64_t word = address / WORD_BYTES; word <= (address + bytes - 1) / WORD_BYTES; ++word) {
            uint32_t i = count;
            while (i && words[i - 1] != word) --i;
            if (i) continue;
            words[count++] = word;
            if (++in_bank[word % BANKS] > most) most = in_bank[word % BANKS];
        }
    }
    return most;
}

static uint32_t agree_in_pairs(const uint64_t* addresses, uint32_t mask, uint32_t distance) {
    for (uint32_t lane = 0; lane < TW_LANES; ++lane) {
        const uint32_t other = lane ^ distance;
        if ((mask >> lane & 1) && (mask >> other & 1) && addresses[lane] != addresses[other]) return 0;
    }
    return 1;
}

// Lanes that shared memory serves together: of accesses of 8 and 16 bytes a half and a quarter of the warp, and twice as many if
// the lanes of a load agree in pairs (hw/banks.py).
static uint32_t count_served_together(const uint64_t* addresses, uint32_t mask, uint32_t bytes, uint32_t is_store) {
    if (bytes <= WORD_BYTES) return TW_LANES;
    const uint32_t lanes = TW_LANES * WORD_BYTES / bytes;
    return !is_store && (agree_in_pairs(addresses, mask, 1) || agree_in_pairs(addresses, mask, 2)) ? 2 * lanes : lanes;
}

// Wavefronts of shared memory; raises the site's worst conflict.
static uint64_t count_wavefronts(struct tw_site_counts* counts, const uint64_t* addresses, uint32_t mask, uint32_t bytes,
                                 uint32_t is_store) {
    const uint32_t width = count_served_together(addresses, mask, bytes, is_store);
    uint64_t wavefronts = 0;
    for (uint32_t first = 0; first < TW_LANES; first += width) {
        const uint32_t part = width == TW_LANES ? mask : mask & (((1u << width) - 1) << first);
        const uint32_t ways = part ? count_ways(addresses, part, bytes) : 0;
        wavefronts += ways;
        if (ways > counts->worst_ways) counts->worst_ways = ways;
    }
    return wavefronts;
}

// Sectors of local memory, where a word of each of the 32 lanes stands side by side.
static uint64_t count_local_sectors(const uint64_t* addresses, uint32_t mask, uint32_t bytes) {
    uint64_t places[TW_LANES], sectors = 0;
    for (uint32_t word = 0; word < (bytes + WORD_BYTES - 1) / WORD_BYTES; ++word) {
        for (uint32_t lane = 0; lane < TW_LANES; ++lane)
            places[lane] = ((addresses[lane] / WORD_BYTES + word) * TW_LANES + lane) * WORD_BYTES;
        sectors += tw_count_sectors(places, mask, WORD_BYTES);
    }
    return sectors;
}

static void count_in(struct tw_context* context, uint32_t site_index, enum tw_space space, uint32_t row, uint32_t mask) {
    const struct tw_site* site = &context->sites[site_index];
    struct tw_site_counts* counts = &context->site_counts[site_index + row];
    const uint32_t bytes = site->element_bytes * site->elements;
    if (!mask || space == TW_CONSTANT) return;
    const uint64_t transactions = space == TW_SHARED  ? count_wavefronts(counts, context->addresses, mask, bytes, site->is_store)
                                  : space == TW_LOCAL ? count_local_sectors(context->addresses, mask, bytes)
                                                      : tw_count_sectors(context->addresses, mask, bytes);
    counts->requests += 1;
    counts->lanes += (uint64_t)__builtin_popcount(mask);
    counts->transactions += transactions;
    if (transactions > counts->worst) counts->worst = transactions;
}

// Counts a request. One by generic addresses counts as one in each space that its lanes fall in; the rows of its site are in the order of
// enum tw_space.
void tw_count(struct tw_context* context, uint32_t site_index, uint32_t mask) {
    const enum tw_space space = (enum tw_space)context->sites[site_index].space;
    if (space != TW_GENERIC) {
        count_in(context, site_index, space, 0, mask);
        return;
    }
    uint32_t lanes[3] = {0, 0, 0};
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        const uint32_t lane = (uint32_t)__builtin_ctz(rest);
        const uint64_t address = context->addresses[lane];
        const enum tw_space found = tw_space_of(address);
        const struct tw_buffer* buffer = found == TW_GLOBAL ? tw_find_buffer(context, address, 1) : 0;
        if (!buffer || buffer->space == TW_GLOBAL) lanes[found] |= 1u << lane;
    }
    for (uint32_t row = 0; row < 3; ++row) count_in(context, site_index, (enum tw_space)row, row, lanes[row]);
}
