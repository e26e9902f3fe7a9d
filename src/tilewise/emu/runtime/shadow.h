// What is remembered of accesses, and of what orders them: shared by knowledge.c and order.c (happens-before), cells.c (accesses to each
// word) and shadow.c (what they are asked).
#pragma once

#include "tilewise.h"

// What is known of the accesses of one block: all those of earlier eras, and of this era those of each thread up to its clock.
struct tw_known {
    uint64_t block;
    uint32_t era;
    struct tw_clocks* clocks;  // 0: none of this era
};

// A thread's clock for each thread of a block.
struct tw_clocks {
    uint64_t references;
    uint32_t of[];
};

// What is known of several blocks, by their number. Never changed: made, shared and dropped.
struct tw_knowledge {
    uint32_t references, count;
    struct tw_known known[];
};

// Knowledge of three kinds: what surely happened before; what would have if those who read flags needed no fence behind them; and what
// would have if nobody needed fences.
enum { TW_STRICT, TW_RELEASED, TW_WEAK, TW_KINDS };

// What a barrier and __syncwarp hand on beside knowledge: what has been fenced for other blocks, what flags of theirs were seen.
enum tw_handed { TW_FENCED, TW_SEEN, TW_HANDED };

// What a thread had done when it fenced, and what it knows to be fenced.
struct tw_fenced {
    struct tw_knowledge* knowledge;
    uint32_t era, clock;  // clock 0: it never did itself
};

struct tw_thread {
    uint32_t clock;                            // goes on when the thread lets others know what it has done
    struct tw_knowledge* knowledge[TW_KINDS];  // beyond the block's
    struct tw_fenced fenced[2];                // for its block; for all
    struct tw_knowledge* seen[2];              // by flags and atomics, of its block; of all: a fence makes it known
};

// The order of a block's accesses. An era ends at a barrier that all threads wait at.
struct tw_order {
    uint32_t era, first_era;                   // goes on from block to block
    uint32_t run_start, run_site;              // since which era all have ended at this one barrier instruction
    uint32_t has_knowledge;                    // a thread knows more than the block does
    uint32_t has_handed;                       // a thread has fenced or seen more than all have been handed
    struct tw_knowledge* knowledge[TW_KINDS];  // of all threads
    struct tw_knowledge* arrived[TW_BARRIERS][TW_KINDS];
    struct tw_knowledge* handed[TW_BARRIERS][TW_HANDED];
    uint32_t sites[TW_BARRIERS];  // the instruction at which threads came to each, + 1; UINT32_MAX for several
    uint32_t* missed;             // for each thread: lanes that it named and waited for, and that were not about to leave the kernel
    uint32_t* executed;           // for each warp, for each site: how often
    uint64_t* latest;             // for each warp, for each site: the era and the sequence of the last time
    uint32_t sequence[TW_LANES];  // for each warp: accesses of this era
    struct tw_thread threads[];
};

// An access to shared memory: `who` is the thread (10 bits), the bytes of the word (4 bits) and whether it is a copy still under way.
struct tw_entry {
    uint16_t clock, sequence, who, site;
};

enum { TW_ENTRIES = 11, TW_GLOBAL_ENTRIES = 3 };

// The accesses to one word of shared memory in an era: 24 bytes for each of its bytes. `earlier` is what the first thread to come in this
// era had done in one before: the thread (10 bits), bytes of the word (4 bits), whether only by atomics, whether it wrote.
struct tw_cell {
    uint32_t era;
    uint8_t count, valid;  // valid: a bit a byte that has been written
    uint16_t earlier;
    struct tw_entry entries[TW_ENTRIES];
};
_Static_assert(sizeof(struct tw_cell) == 4 * 24, "24 bytes for each byte of a word");

struct tw_global_entry {
    uint32_t block, era;
    struct tw_entry entry;
};

struct tw_global_cell {
    uint32_t count;
    uint32_t updated_block, updated_era;  // the last atomic that changed it
    uint16_t updated_clock, updated_by;   // its thread + 1; 0: there was none
    struct tw_global_entry entries[TW_GLOBAL_ENTRIES];
};

struct tw_page {
    struct tw_global_cell cells[1024];
};

// One access of one lane to one word.
struct tw_touch {
    uint32_t thread, site, traits;
    uint32_t bytes;       // bits: which of the word's
    uint32_t same_value;  // it writes what stands there
    uint32_t is_pending;  // a copy that goes on behind it
    enum tw_space space;
    uint64_t address;  // of the word, for reports
};

static inline uint32_t tw_thread_of(struct tw_entry entry) { return entry.who & 1023; }
static inline uint32_t tw_bytes_of(struct tw_entry entry) { return entry.who >> 10 & 15; }
static inline uint32_t tw_is_pending(struct tw_entry entry) { return entry.who >> 14 & 1; }

// knowledge.c
void* tw_zeroed(uint64_t bytes);
struct tw_clocks* tw_make_clocks(uint64_t threads);
struct tw_knowledge* tw_know_clocks(uint64_t block, uint32_t era, struct tw_clocks*);
struct tw_knowledge* tw_keep(struct tw_knowledge*);
void tw_drop(struct tw_knowledge*);
void tw_replace(struct tw_knowledge** place, struct tw_knowledge* by);
void tw_learn(struct tw_knowledge** place, struct tw_knowledge* more, uint64_t threads);
const struct tw_known* tw_known_of(const struct tw_knowledge*, uint64_t block);

// order.c
int tw_is_known(const struct tw_context*, uint32_t kind, uint32_t thread, uint64_t block, uint32_t era, struct tw_entry);
void tw_synchronise(struct tw_context*, uint32_t lane, uint64_t location, uint32_t traits);
struct tw_order* tw_make_order(const struct tw_context*);
void tw_reset_order(const struct tw_context*, struct tw_order*);
void tw_free_order(const struct tw_context*, struct tw_order*);
void tw_free_locations(struct tw_watch*);

// cells.c
uint32_t tw_touch_shared(struct tw_context*, struct tw_cell*, const struct tw_touch*);
void tw_touch_global(struct tw_context*, struct tw_global_cell*, const struct tw_touch*);
void tw_settle_copy(struct tw_context*, struct tw_cell*, const struct tw_touch*);
