// What threads know of each other: counted references to what never changes.
#include <stdlib.h>

#include "shadow.h"

void* tw_zeroed(uint64_t bytes) {
    void* memory = calloc(1, bytes);
    if (!memory) abort();
    return memory;
}

struct tw_clocks* tw_make_clocks(uint64_t threads) {
    struct tw_clocks* clocks = tw_zeroed(sizeof *clocks + threads * sizeof *clocks->of);
    clocks->references = 1;
    return clocks;
}

static struct tw_clocks* keep_clocks(struct tw_clocks* clocks) {
    if (clocks) clocks->references += 1;
    return clocks;
}

static void drop_clocks(struct tw_clocks* clocks) {
    if (clocks && !--clocks->references) free(clocks);
}

struct tw_knowledge* tw_keep(struct tw_knowledge* knowledge) {
    if (knowledge) knowledge->references += 1;
    return knowledge;
}

void tw_drop(struct tw_knowledge* knowledge) {
    if (!knowledge || --knowledge->references) return;
    for (uint32_t i = 0; i < knowledge->count; ++i) drop_clocks(knowledge->known[i].clocks);
    free(knowledge);
}

const struct tw_known* tw_known_of(const struct tw_knowledge* knowledge, uint64_t block) {
    uint32_t low = 0, high = knowledge ? knowledge->count : 0;
    while (low < high) {
        const uint32_t middle = (low + high) / 2;
        if (knowledge->known[middle].block == block) return &knowledge->known[middle];
        if (knowledge->known[middle].block < block)
            low = middle + 1;
        else
            high = middle;
    }
    return 0;
}

static int clocks_cover(const struct tw_clocks* a, const struct tw_clocks* b, uint64_t threads) {
    if (!b || a == b) return 1;
    if (!a) return 0;
    uint32_t beyond = 0;
    for (uint64_t i = 0; i < threads; ++i) beyond |= b->of[i] > a->of[i];
    return !beyond;
}

// Whether `a` knows all that `b` does.
static int covers(const struct tw_knowledge* a, const struct tw_knowledge* b, uint64_t threads) {
    if (!b || a == b) return 1;
    for (uint32_t i = 0; i < b->count; ++i) {
        const struct tw_known *other = &b->known[i], *mine = tw_known_of(a, other->block);
        if (!mine || mine->era < other->era) return 0;
        if (mine->era == other->era && !clocks_cover(mine->clocks, other->clocks, threads)) return 0;
    }
    return 1;
}

static struct tw_clocks* join_clocks(struct tw_clocks* a, struct tw_clocks* b, uint64_t threads) {
    if (clocks_cover(a, b, threads)) return keep_clocks(a);
    if (clocks_cover(b, a, threads)) return keep_clocks(b);
    struct tw_clocks* joined = tw_make_clocks(threads);
    for (uint64_t i = 0; i < threads; ++i) joined->of[i] = a->of[i] > b->of[i] ? a->of[i] : b->of[i];
    return joined;
}

static struct tw_knowledge* make_knowledge(uint32_t capacity) {
    struct tw_knowledge* knowledge = tw_zeroed(sizeof *knowledge + capacity * sizeof *knowledge->known);
    knowledge->references = 1;
    return knowledge;
}

static struct tw_knowledge* join(struct tw_knowledge* a, struct tw_knowledge* b, uint64_t threads) {
    if (covers(a, b, threads)) return tw_keep(a);
    if (covers(b, a, threads)) return tw_keep(b);
    struct tw_knowledge* joined = make_knowledge(a->count + b->count);
    for (uint32_t i = 0, j = 0; i < a->count || j < b->count;) {
        const struct tw_known *x = i < a->count ? &a->known[i] : 0, *y = j < b->count ? &b->known[j] : 0;
        const int both = x && y && x->block == y->block;
        struct tw_known* to = &joined->known[joined->count++];
        *to = !x || (y && (y->block < x->block || (both && y->era > x->era))) ? *y : *x;
        to->clocks = both && x->era == y->era ? join_clocks(x->clocks, y->clocks, threads) : keep_clocks(to->clocks);
        i += both || to->block == (x ? x->block : UINT64_MAX);
        j += both || to->block == (y ? y->block : UINT64_MAX);
    }
    return joined;
}

// Replaces what stands at `place` by it and `more`.
void tw_learn(struct tw_knowledge** place, struct tw_knowledge* more, uint64_t threads) {
    if (covers(*place, more, threads)) return;
    struct tw_knowledge* joined = join(*place, more, threads);
    tw_drop(*place);
    *place = joined;
}

void tw_replace(struct tw_knowledge** place, struct tw_knowledge* by) {
    tw_drop(*place);
    *place = by;
}

struct tw_knowledge* tw_know_clocks(uint64_t block, uint32_t era, struct tw_clocks* clocks) {
    struct tw_knowledge* knowledge = make_knowledge(1);
    knowledge->count = 1;
    knowledge->known[0] = (struct tw_known){block, era, clocks};
    return knowledge;
}
