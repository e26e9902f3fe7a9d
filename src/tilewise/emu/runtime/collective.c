// Matches and reductions over the lanes of a warp, where more is asked than a few vector instructions give.
#include <string.h>

#include "tilewise.h"

static const uint32_t CANONICAL_NAN = 0x7fffffff;

static float as_float(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static int is_nan(uint32_t bits) { return (bits & 0x7fffffff) > 0x7f800000; }

// min and max of floats: -0 is below +0; a NaN loses against a number, unless NaNs are to stay.
static uint32_t choose_float(uint32_t a, uint32_t b, int want_max, int keep_nan) {
    if (is_nan(a) || is_nan(b)) {
        if (keep_nan || (is_nan(a) && is_nan(b))) return CANONICAL_NAN;
        return is_nan(a) ? b : a;
    }
    const int a_below = as_float(a) < as_float(b) || (as_float(a) == as_float(b) && a >> 31 > b >> 31);
    return a_below != want_max ? a : b;
}

static uint32_t combine(enum tw_collective operation, uint32_t a, uint32_t b) {
    const int32_t sa = (int32_t)a, sb = (int32_t)b;
    switch (operation) {
        case TW_ADD_U32:
        case TW_ADD_S32:
            return a + b;
        case TW_MIN_U32:
            return a < b ? a : b;
        case TW_MAX_U32:
            return a > b ? a : b;
        case TW_MIN_S32:
            return sa < sb ? a : b;
        case TW_MAX_S32:
            return sa > sb ? a : b;
        case TW_AND_B32:
            return a & b;
        case TW_OR_B32:
            return a | b;
        case TW_XOR_B32:
            return a ^ b;
        default: {
            const uint32_t which = operation - TW_MIN_F32;  // min or max, then .abs, then .NaN: a bit each
            return choose_float(a, b, which >> 2 & 1, which & 1);
        }
    }
}

static uint32_t reduce(enum tw_collective operation, const uint64_t* values, uint32_t lanes) {
    const uint32_t keep = operation >= TW_MIN_F32 && ((operation - TW_MIN_F32) >> 1 & 1) ? 0x7fffffff : UINT32_MAX;  // .abs
    uint32_t result = (uint32_t)values[__builtin_ctz(lanes)] & keep;
    if (operation >= TW_MIN_F32 && is_nan(result)) result = CANONICAL_NAN;
    for (lanes &= lanes - 1; lanes; lanes &= lanes - 1) result = combine(operation, result, (uint32_t)values[__builtin_ctz(lanes)] & keep);
    return result;
}

static uint32_t find_equal(const uint64_t* values, uint64_t value, uint32_t lanes) {
    uint32_t equal = 0;
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
        const uint32_t lane = (uint32_t)__builtin_ctz(rest);
        if (values[lane] == value) equal |= 1u << lane;
    }
    return equal;
}

// Operands and results are 32 words of 64 bits each, in context->values: what each lane gives, the lanes it names; what it gets, and
// of match.all whether all were equal.
void tw_collect(struct tw_context* context, uint32_t operation, uint32_t mask) {
    uint64_t *words = (uint64_t*)context->values, values[TW_LANES], members[TW_LANES];
    memcpy(values, words, sizeof values);
    memcpy(members, words + TW_LANES, sizeof members);
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        const uint32_t lane = (uint32_t)__builtin_ctz(rest), named = (uint32_t)members[lane] & mask;
        if (operation == TW_MATCH_ANY) {
            words[lane] = find_equal(values, values[lane], named);
            words[TW_LANES + lane] = 0;
        } else if (operation == TW_MATCH_ALL) {
            const int all = find_equal(values, values[lane], named) == named;
            words[lane] = all ? named : 0;
            words[TW_LANES + lane] = (uint64_t)all;
        } else {
            words[lane] = named ? reduce(operation, values, named) : 0;
        }
    }
}
