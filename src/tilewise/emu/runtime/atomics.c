// Atomics and reductions, lane by lane in the order of the lanes. Blocks on several host threads meet in global memory: there each step is
// a compare-and-swap of the host, unless this thread runs alone.
#include <math.h>
#include <string.h>

#include "tilewise.h"

// Inlined wherever the size of an element is known.
#define INLINE static inline __attribute__((always_inline))

static const uint32_t CANONICAL_NAN = 0x7fffffff;

static volatile int long_words_taken;  // by a host thread; the processor swaps 8 bytes at most

// -- numbers

static float float_of(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint32_t bits_of(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return value != value ? CANONICAL_NAN : bits;
}

static float flush(float value) { return fabsf(value) < 0x1p-126f ? copysignf(0, value) : value; }

// IEEE 754 binary16, every value of which a float holds.
static float half_to_float(uint32_t half) {
    const uint32_t sign = (half & 0x8000) << 16, exponent = half >> 10 & 31, fraction = half & 0x3ff;
    if (exponent == 31) return float_of(sign | 0x7f800000 | fraction << 13);
    if (exponent) return float_of(sign | (exponent + 112) << 23 | fraction << 13);
    return copysignf((float)fraction * 0x1p-24f, float_of(sign));
}

// Rounds to nearest, ties to even. Of a float that is a sum of two halves this gives the half nearest to the exact sum.
static uint32_t float_to_half(float value) {
    const uint32_t bits = bits_of(value), sign = bits >> 16 & 0x8000, size = bits & 0x7fffffff;
    if (size > 0x7f800000) return 0x7fff;
    if (size >= 0x477ff000) return sign | 0x7c00;                                   // at least 65520
    if (size < 0x38800000) return sign | (uint32_t)lrintf(fabsf(value) * 0x1p24f);  // subnormal, or the least normal
    return sign | ((size - 0x38000000 + 0xfff + (size >> 13 & 1)) >> 13);
}

static float bfloat_to_float(uint32_t bits) { return float_of(bits << 16); }

static uint32_t float_to_bfloat(float value) {
    const uint32_t bits = bits_of(value);
    return value != value ? 0x7fff : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

// min and max: a NaN loses, -0 is below +0.
static float choose(float a, float b, enum tw_operation operation) {
    if (a != a) return b;
    if (b != b) return a;
    const int below = a < b || (a == b && signbit(a) > signbit(b));
    return below == (operation == TW_MIN) ? a : b;
}

static float combine_floats(float a, float b, enum tw_operation operation) { return operation == TW_ADD ? a + b : choose(a, b, operation); }

static uint32_t combine_halves(uint32_t a, uint32_t b, enum tw_operation operation, int is_bfloat) {
    if (is_bfloat) return float_to_bfloat(combine_floats(bfloat_to_float(a), bfloat_to_float(b), operation));
    return float_to_half(combine_floats(half_to_float(a), half_to_float(b), operation));
}

static uint32_t combine_pairs(uint32_t a, uint32_t b, enum tw_operation operation, int is_bfloat) {
    return combine_halves(a >> 16, b >> 16, operation, is_bfloat) << 16 | combine_halves(a & 0xffff, b & 0xffff, operation, is_bfloat);
}

// Single precision in global memory loses its subnormals, as the manual has it.
static uint64_t add_floats(uint64_t old, uint64_t b, uint32_t size, int flushes) {
    if (size == sizeof(float)) {
        const float x = float_of((uint32_t)old), y = float_of((uint32_t)b);
        return bits_of(flushes ? flush(flush(x) + flush(y)) : x + y);
    }
    double x, y;
    memcpy(&x, &old, sizeof x);
    memcpy(&y, &b, sizeof y);
    x += y;
    memcpy(&old, &x, sizeof old);
    return old;
}

INLINE uint64_t combine_integers(const struct tw_site* site, uint64_t old, uint64_t b, uint32_t size) {
    const uint32_t shift = 64 - 8 * size;
    const int below = site->type == TW_SIGNED ? (int64_t)(old << shift) < (int64_t)(b << shift) : old < b;
    switch ((enum tw_operation)site->operation) {
        case TW_ADD:
            return old + b;
        case TW_MIN:
            return below ? old : b;
        case TW_MAX:
            return below ? b : old;
        case TW_AND:
            return old & b;
        case TW_OR:
            return old | b;
        case TW_XOR:
            return old ^ b;
        case TW_INC:
            return old >= b ? 0 : old + 1;
        case TW_DEC:
            return old == 0 || old > b ? b : old - 1;
        default:
            return b;
    }
}

static uint64_t combine_reals(const struct tw_site* site, uint64_t old, uint64_t b, int flushes) {
    const enum tw_operation operation = (enum tw_operation)site->operation;
    switch ((enum tw_number)site->type) {
        case TW_F16:
        case TW_BF16:
            return combine_halves((uint32_t)old, (uint32_t)b, operation, site->type == TW_BF16);
        case TW_F16X2:
        case TW_BF16X2:
            return combine_pairs((uint32_t)old, (uint32_t)b, operation, site->type == TW_BF16X2);
        default:
            return add_floats(old, b, site->element_bytes, flushes);
    }
}

// What is written where `old` was.
INLINE uint64_t result_of(const struct tw_site* site, uint64_t old, uint64_t b, uint64_t c, uint32_t size, int flushes) {
    if (site->operation == TW_CAS) return old == b ? c : old;
    return site->type <= TW_SIGNED ? combine_integers(site, old, b, size) : combine_reals(site, old, b, flushes);
}

// -- memory

// An element's bits: whole registers, since a wide load of a narrow store would have to wait for it.
INLINE uint64_t read_bits(const uint8_t* place, uint32_t size) {
    uint64_t wide;
    uint32_t word;
    uint16_t half;
    if (size == 8) return memcpy(&wide, place, 8), wide;
    if (size == 4) return memcpy(&word, place, 4), word;
    return memcpy(&half, place, 2), half;
}

// Puts `new` in place of `old` if that still stands there; else says what does.
INLINE int swap(uint8_t* place, uint64_t* old, uint64_t new, uint32_t size) {
    if (size == 8) return __atomic_compare_exchange_n((uint64_t*)place, old, new, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    if (size == 4) {
        uint32_t expected = (uint32_t)*old;
        const int done = __atomic_compare_exchange_n((uint32_t*)place, &expected, (uint32_t)new, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
        *old = expected;
        return done;
    }
    uint16_t expected = (uint16_t)*old;
    const int done = __atomic_compare_exchange_n((uint16_t*)place, &expected, (uint16_t)new, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    *old = expected;
    return done;
}

INLINE uint64_t update(struct tw_context* context, const struct tw_site* site, uint8_t* place, uint64_t b, uint64_t c, uint32_t size,
                       int flushes, int is_alone) {
    uint64_t old = read_bits(place, size);
    if (is_alone || (uintptr_t)place & (size - 1)) {  // the host's own arrays may stand at odd addresses
        const uint64_t new = result_of(site, old, b, c, size, flushes);
        context->changes += new != old;
        memcpy(place, &new, size);
        return old;
    }
    while (!swap(place, &old, result_of(site, old, b, c, size, flushes), size)) {
    }
    return old;
}

static uint8_t* slot(struct tw_context* context, uint32_t element, uint32_t lane, uint32_t size) {
    return context->values + ((uint64_t)element * TW_LANES + lane) * size;
}

// A lane's elements, for a size that the compiler knows.
INLINE void update_lane(struct tw_context* context, const struct tw_site* site, const struct tw_place* place, uint32_t lane,
                        uint32_t size) {
    const int is_alone = context->is_alone || place->space == TW_SHARED, flushes = place->space == TW_GLOBAL;
    for (uint32_t element = 0; element < site->elements; ++element) {
        const uint64_t b = read_bits(slot(context, element, lane, size), size);
        const uint64_t c = site->operation == TW_CAS ? read_bits(slot(context, site->elements + element, lane, size), size) : 0;
        const uint64_t old = update(context, site, place->bytes + (uint64_t)element * size, b, c, size, flushes, is_alone);
        memcpy(slot(context, element, lane, size), &old, size);
    }
}

// 16 bytes at once, which the processor cannot swap: host threads take turns.
static void update_long_word(struct tw_context* context, const struct tw_site* site, const struct tw_place* place, uint32_t lane) {
    const int is_alone = context->is_alone || place->space == TW_SHARED;
    uint64_t old[2], b[2], c[2];
    for (uint32_t half = 0; half < 2; ++half) {
        memcpy(&b[half], slot(context, half, lane, 8), 8);
        memcpy(&c[half], slot(context, 2 + half, lane, 8), 8);
    }
    while (!is_alone && __atomic_exchange_n(&long_words_taken, 1, __ATOMIC_SEQ_CST)) {
    }
    memcpy(old, place->bytes, sizeof old);
    if (site->operation == TW_EXCH)
        memcpy(place->bytes, b, sizeof b);
    else if (!memcmp(old, b, sizeof b))
        memcpy(place->bytes, c, sizeof c);
    context->changes += memcmp(old, place->bytes, sizeof old) != 0;
    if (!is_alone) __atomic_store_n(&long_words_taken, 0, __ATOMIC_SEQ_CST);
    for (uint32_t half = 0; half < 2; ++half) memcpy(slot(context, half, lane, 8), &old[half], 8);
}

static void update_any(struct tw_context* context, const struct tw_site* site, const struct tw_place* place, uint32_t lane) {
    if (site->type == TW_BITS && site->elements == 2)
        update_long_word(context, site, place, lane);
    else if (site->element_bytes == 4)
        update_lane(context, site, place, lane, 4);
    else if (site->element_bytes == 8)
        update_lane(context, site, place, lane, 8);
    else
        update_lane(context, site, place, lane, 2);
}

// Has the processor fetch what the lanes will update: one after another they would each wait for memory.
static void fetch_ahead(const struct tw_context* context, uint32_t mask) {
    const uint64_t* addresses = context->addresses;
    const struct tw_buffer* buffer = tw_find_buffer(context, addresses[__builtin_ctz(mask)], 1);
    for (uint32_t rest = buffer ? mask : 0; rest; rest &= rest - 1)
        __builtin_prefetch((const void*)(uintptr_t)(addresses[__builtin_ctz(rest)] + buffer->delta), 1);
}

// context->values holds each lane's operands, element by element, then those of the second operand; each element's old value takes the
// place of the first.
void tw_atomic(struct tw_context* context, struct tw_warp* warp, uint32_t site_index, uint32_t mask) {
    if (!mask) return;
    fetch_ahead(context, mask);
    tw_count(context, site_index, mask);
    tw_watch_instruction(context, site_index);
    const struct tw_site* site = &context->sites[site_index];
    struct tw_place place = {0};
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        const uint32_t lane = (uint32_t)__builtin_ctz(rest), size = site->element_bytes;
        const int fault = tw_locate(context, site, context->addresses[lane], &place);
        if (fault < 0 && place.space != TW_LOCAL) {
            if (context->watch) tw_watch_lane(context, site_index, lane, context->addresses[lane], &place);
            if (context->screen) tw_screen_lane(context, site_index, lane, &place);
            update_any(context, site, &place, lane);
            continue;
        }
        tw_report(context, warp, fault < 0 ? TW_OUT_OF_BOUNDS : (enum tw_fault_kind)fault, site_index, lane, context->addresses[lane]);
        for (uint32_t element = 0; element < site->elements; ++element) memset(slot(context, element, lane, size), 0, size);
    }
}
