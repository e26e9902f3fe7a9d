// What compiled kernels, the scheduler and the Python side agree on. abi.py mirrors these structures field by field; the library tells
// their sizes (tw_abi), and a mismatch is refused when it is loaded.
#pragma once

#include <stdint.h>

enum { TW_LANES = 32, TW_ELEMENTS = 8, TW_BARRIERS = 16 };
enum { TW_PATIENCE = 32 };  // rounds of a waiting loop before other lanes, warps and blocks have a turn

// How a compiled kernel comes back to the scheduler.
enum tw_status {
    TW_EXITED = 1,            // no lane of the warp is left
    TW_AT_BARRIER = 2,        // every lane that is left waits at a barrier of the block
    TW_TO_FAST = 3,           // all lanes are together again at block warp->resume
    TW_TO_CAREFUL = 4,        // run block warp->resume lane by lane: a check failed, nothing of it has happened yet
    TW_DIVERGED = 5,          // lanes went different ways: pending blocks and masks say where
    TW_STOPPED = 6,           // somebody asked to stop
    TW_UNSUPPORTED = 7,       // an instruction without a form was reached: warp->wait_site is its number
    TW_YIELDED = 8,           // lanes have gone round a loop that waits for others often enough: these come first now
    TW_AT_BLOCK_BARRIER = 9,  // as TW_AT_BARRIER: all lanes together, at barrier 0 for all threads of the block
};

enum tw_space {
    TW_GLOBAL = 0,
    TW_SHARED = 1,
    TW_LOCAL = 2,
    TW_CONSTANT = 3,  // read only, and not counted: constant memory and parameters
    TW_GENERIC = 4,   // an access whose address says which
};

enum tw_operation { TW_ADD, TW_MIN, TW_MAX, TW_AND, TW_OR, TW_XOR, TW_INC, TW_DEC, TW_EXCH, TW_CAS };
enum tw_number { TW_BITS, TW_UNSIGNED, TW_SIGNED, TW_FLOAT, TW_F16, TW_BF16, TW_F16X2, TW_BF16X2 };

// Windows of generic addresses (windows.py). Anything else is a buffer's.
static const uint64_t TW_LOCAL_WINDOW = 0x01000000, TW_SHARED_WINDOW = 0x02000000, TW_WINDOW_BYTES = 0x01000000;

enum tw_fault_kind {
    TW_OUT_OF_BOUNDS = 0,
    TW_MISALIGNED = 1,
    TW_READ_ONLY = 2,
    TW_BARRIER_DIVERGENCE = 3,
    TW_DEADLOCK = 4,       // a warp waits at a barrier that cannot be complete any more
    TW_OUT_OF_SHARED = 5,  // the shared side of a copy
    TW_WARP_MASK = 6,      // lanes that an instruction names do not come to it
    TW_BAD_JUMP = 7,       // no place for a number or a function's address
    TW_STACK_OVERFLOW = 8,
    TW_TRAP = 9,
    TW_ASSERT = 10,
    TW_ENDLESS = 11,       // lanes go round a loop, or wait for others of their warp, and nobody changes anything
    TW_READS_ABSENT = 12,  // lanes shuffle values from lanes that take no part
    TW_NEVER_CAME = 13,    // lanes that were waited for leave the kernel
    TW_NOT_NAMED = 14,     // lanes do not name themselves
};

// What tw_collect does, in the order of across.COLLECTIVES.
enum tw_collective {
    TW_MATCH_ANY,
    TW_MATCH_ALL,
    TW_ADD_U32,
    TW_MIN_U32,
    TW_MAX_U32,
    TW_ADD_S32,
    TW_MIN_S32,
    TW_MAX_S32,
    TW_AND_B32,
    TW_OR_B32,
    TW_XOR_B32,
    TW_MIN_F32,  // eight of them: bit 2 max, bit 1 of absolute values, bit 0 a NaN stays
};

// Where the lanes of a warp wait that have come to barriers one by one.
struct tw_arrivals {
    uint32_t resume[TW_LANES];    // where each waiting lane goes on
    uint32_t lanes[TW_BARRIERS];  // that have come to each barrier of warp->arriving
};

// One warp between two calls. On the first cache line stands what every turn wants. Registers that live across basic blocks follow the
// masks; the compiled kernel alone knows where.
struct tw_warp {
    uint32_t resume;         // block to go on with, in execution order
    uint32_t mask;           // lanes of the block that now runs lane by lane
    uint32_t live;           // lanes that have not exited
    uint32_t waiting;        // lanes that wait at a barrier of the block
    uint32_t barrier;        // its number; 0 while none do
    uint32_t threads;        // how many it is for; 0: all of the block, or while none do
    uint32_t barrier_lanes;  // of the last barrier: lanes that came, and those of them with a true predicate
    uint32_t barrier_ones;
    uint32_t status;     // enum tw_status of the last return; 0 before the first
    uint32_t wait_site;  // the instruction that it waits or stopped at, numbered as sites are
    uint32_t patience;   // rounds of waiting loops that are left before others come first
    uint32_t met_live;   // `live` when lanes that wait for others of the warp were last looked at
    uint16_t arriving;   // a bit for each barrier that some of its lanes have come to, but not all that are left
    uint8_t counted;     // all its lanes that are left wait at a barrier, and the barrier knows
    uint8_t careful;     // whether to go on lane by lane
    uint8_t insist;      // run the next block lane by lane though all lanes are together
    uint8_t force;       // lanes that wait for others of the warp go on without them
    uint8_t yielded;     // lanes of it have let others go first since the last barrier
    uint8_t unused;
    struct tw_arrivals* arrivals;
    uint64_t words[];  // a bit a block: lanes are pending there, wait there for others of the warp, let others go first there ([words]
                       // each); then each block's lanes (uint32_t)
};

// A buffer of the launch: virtual addresses low..high (high exclusive) stand at address + delta in this process.
struct tw_buffer {
    uint64_t low, high, delta, space, writable;
    uint64_t is_empty;       // it has no contents at first
    uint64_t* stored;        // for the quick look: a bit a byte that has been stored
    uint64_t touched;        // TW_READS, TW_WRITES: what kernels have done with it
    uint64_t is_shadowed;    // accesses are remembered
    uint8_t* stores;         // of a buffer without contents: whether each site has written it
    uint8_t* written;        // a bit a byte; 0: all have contents
    struct tw_page** pages;  // of remembered accesses, made when first needed
};

// The last buffer that a group of accesses fell in: its lowest byte, at address a, is inside if a - low < starts. All zero: none yet.
struct tw_range {
    uint64_t low, starts, delta, space;
};

struct tw_site {
    uint32_t space, is_store, element_bytes, elements;
    uint32_t is_stack;   // of a function that calls itself: there is no way on past its end
    uint32_t aligned;    // a barrier that all lanes of a warp must come to together
    uint32_t operation;  // enum tw_operation of an atomic
    uint32_t type;       // enum tw_number of its elements
    uint32_t traits;     // enum tw_trait, for who watches accesses
};

// What an access means for others.
enum tw_trait {
    TW_READS = 1,  // and its thread sees the value
    TW_WRITES = 2,
    TW_STRONG = 4,    // volatile, relaxed, acquire, release or atomic: two of them are no race
    TW_ACQUIRES = 8,  // its thread knows from then on what the one knew that wrote the value
    TW_RELEASES = 16,
    TW_OF_BLOCK = 32,     // for threads of its block alone
    TW_COPIES = 64,       // cp.async: what it writes
    TW_VOLATILE = 256,    // strong, but lanes of a warp that exchange values by it need a __syncwarp all the same
    TW_ONLY_MOVES = 512,  // a load whose values are only stored again
    TW_UPDATES = 128,     // an atomic: what is known of the value that it changes is known of the new one
    TW_COMPARES = 1024,   // compare and swap
    TW_POLLS = 2048,      // a read in a loop that goes round until others have written
};

struct tw_buffer;

// Where a lane's bytes stand in this process: `bytes`, or its local memory from `offset` on, if `bytes` is 0.
struct tw_place {
    uint8_t* bytes;
    uint64_t offset;
    enum tw_space space;
    struct tw_buffer* buffer;  // that it stands in, if in any
};

struct tw_site_counts {
    uint64_t requests, lanes, transactions, worst, worst_ways;
    uint64_t read_bytes, written_bytes;  // cp.async alone: asked of global memory, written to shared memory
};

struct tw_fault {
    uint32_t kind, site, warp, lane;
    uint32_t block[3];
    uint32_t mask;
    uint64_t address, count;
    uint32_t arrived,
        expected;    // deadlock at a barrier: warps that came, and that must come; else: blocks not started, blocks on their way
    uint32_t warps;  // a bit for each warp of that block which it happened to
    char text[120];  // what was asserted
};

// Two instructions that accessed the same bytes, unordered: the first example, and what is common to all.
struct tw_conflict {
    uint32_t space, is_pending;
    uint32_t sites[2], threads[2], iterations[2], sequences[2];
    uint64_t blocks[2];
    uint64_t address, count;
    uint32_t in_warp, across_blocks, same_value, needs_fence;  // in all; in one; in all; in all
};

// A load of bytes that nobody has written.
struct tw_unwritten {
    uint32_t space, site, thread, iteration;
    uint64_t block, address, count;
};

// Warps that passed a barrier after lanes of theirs had left the kernel: how often, and the first of them.
struct tw_short {
    uint64_t count, block;
    uint32_t thread, unused;
};

// What watching a launch has found, and what it stores that in.
struct tw_watch {
    struct tw_conflict* conflicts;
    struct tw_unwritten* unwritten;
    uint64_t conflict_count, conflict_capacity, unwritten_count, unwritten_capacity, lost;
    struct tw_short* shorts;         // for each site
    uint32_t* passes;                // for each site: barriers that ended an era there
    uint32_t* orders;                // for each site: whether one of those alone ordered two accesses
    uint32_t* compared;              // for each site: whether a thread held what it read there against the same word by compare and swap
    struct tw_locations* locations;  // that flags and atomics stand at
    uint64_t site_count;
    uint64_t again;  // a buffer that was read, and not remembered, has been written: run once more and remember it
};

// What the quick look at a launch keeps: sets of bytes of shared memory.
struct tw_screen {
    uint64_t* sets;
    uint64_t words, is_suspect;
    uint64_t changes;             // accesses to shared memory that were no reads, and barriers
    uint64_t used;                // a bit for each set that may have members
    struct tw_reading* readings;  // the latest that were found in order
};

// A barrier of a block.
struct tw_barrier {
    uint32_t warps;        // that have come
    uint32_t threads;      // how many it is for; 0: all of the block
    uint32_t lanes, ones;  // bar.red: lanes that have come, those of them with a true predicate
};

// A block that is on its way, with its memory.
struct tw_block {
    uint64_t number;
    uint32_t active, live_warps;
    uint32_t awaited, unused;  // a bit for each barrier that threads have come to
    uint8_t *shared, *warps, *local;
    struct tw_arrivals* arrivals;  // one a warp
    struct tw_copies* copies;      // one a warp, made when the first copy is asked for
    struct tw_order* order;        // of its accesses, and the words of shared memory: where they are watched
    struct tw_cell* cells;
    uint8_t* local_written;
    struct tw_barrier barriers[TW_BARRIERS];
};

// What was seen of the blocks on their way since something last changed.
struct tw_progress {
    uint64_t passes;         // in which each of them had a turn
    uint64_t writes, state;  // at the last change; at the pass that others are held against
};

struct tw_context;
typedef uint32_t tw_kernel(struct tw_context*, struct tw_warp*);

// One host thread's view of a launch. Compiled kernels read the fields down to warp_index. What belongs to the block and the warp that
// now run is set when they are taken up.
struct tw_context {
    const uint8_t* params;
    uint8_t* shared;
    uint64_t* block_counts;  // for each block: times it ran with all lanes; times it ran lane by lane; lanes of the latter
    uint8_t* local;          // of this warp: 32 lanes side by side for each word of four bytes
    uint8_t* local_written;  // of this warp: for each word, for each lane, a bit a byte; where accesses are watched
    struct tw_range* ranges;
    uint64_t range_count;
    uint64_t* histograms;
    volatile int32_t* stop;
    const uint32_t* thread_ids;  // x of every thread, then y, then z
    void *access, *atomic, *fault, *print, *assert_, *count, *resolve, *next, *come, *meet, *collect, *copy_copy, *copy_commit, *copy_wait,
        *warp_sync, *fence, *shuffle, *named, *local_read, *screen_runs, *screen_lanes;
    uint64_t shared_bytes, local_bytes, cleared_local_bytes, dynamic_shared_bytes;
    uint64_t clock;  // goes on with every look at it
    uint32_t ctaid[3], nctaid[3];
    uint32_t warp_index, sm, sms;
    uint32_t entry;  // the block that a kernel starts at

    struct tw_site_counts* site_counts;
    const struct tw_site* sites;
    struct tw_buffer* buffers;
    uint64_t buffer_count;
    struct tw_watch* watch;    // 0: accesses are not watched
    struct tw_screen* screen;  // 0: nobody takes the quick look either
    struct tw_fault* faults;
    uint64_t fault_count, fault_capacity, faults_lost;
    uint64_t barriers;

    tw_kernel *fast, *careful;
    tw_kernel* (*compile_careful)(void);
    const uint64_t* heads;  // a bit for each block that the fast function can start at
    uint64_t warp_bytes, warp_count, threads, words, blocks;
    struct tw_block *resident, *block;  // the blocks on their way, and the one that now runs
    uint64_t resident_count;
    uint64_t* next_block;  // shared by all host threads
    uint64_t last_block, chunk;
    uint64_t first_taken, end_taken;  // blocks that this host thread has taken and not started
    const uint64_t* chosen;           // numbers of the last_block blocks to run, counted along x, then y, then z; null: all of the grid
    uint64_t is_alone;                // no other host thread runs blocks of the launch
    char* print_text;
    uint64_t print_capacity, print_used, print_lost;
    uint64_t seed;            // of the order in which warps and blocks take turns; 0: as they are numbered
    const uint64_t* exits;    // a bit for each block in which lanes do nothing but leave the kernel
    const uint32_t* stands;   // for each block: the site to name where lanes wait there
    const uint32_t* writers;  // blocks that write memory other than a thread's own
    uint64_t writer_count;
    uint64_t is_opaque;  // the kernel looks at a clock or has a stack: what it does next hangs on more than is looked at
    uint64_t changes;    // atomics that have changed memory

    _Alignas(64) uint64_t addresses[TW_LANES];
    _Alignas(64) uint8_t values[TW_ELEMENTS * TW_LANES * 8];  // element by element, 32 lanes each
};

// Called by compiled kernels.
void tw_access(struct tw_context*, struct tw_warp*, uint32_t site, uint32_t mask, uint32_t counted);
void tw_atomic(struct tw_context*, struct tw_warp*, uint32_t site, uint32_t mask);
void tw_fault(struct tw_context*, const struct tw_warp*, uint32_t kind, uint32_t site, uint32_t mask);
void tw_print(struct tw_context*, struct tw_warp*, uint32_t site, uint32_t mask);
void tw_assert(struct tw_context*, struct tw_warp*, uint32_t site, uint32_t mask);
void tw_count(struct tw_context*, uint32_t site, uint32_t mask);
uint32_t tw_resolve(struct tw_context*, uint32_t group, uint64_t address, uint64_t extent, uint32_t is_store, uint32_t is_generic);
int32_t tw_next(struct tw_context*, struct tw_warp*);
uint32_t tw_meet(struct tw_context*, struct tw_warp*, uint32_t block, uint32_t site);
void tw_collect(struct tw_context*, uint32_t operation, uint32_t mask);
void tw_come(struct tw_context*, struct tw_warp*, uint32_t site, uint32_t mask, uint32_t holds, uint32_t waits, uint32_t resume);
void tw_copy(struct tw_context*, uint32_t site, uint32_t mask);
void tw_copy_commit(struct tw_context*, uint32_t mask);
void tw_copy_wait(struct tw_context*, uint32_t mask, int32_t pending);
void tw_warp_sync(struct tw_context*, struct tw_warp*, uint32_t mask, uint32_t unused);
void tw_fence(struct tw_context*, struct tw_warp*, uint32_t mask, uint32_t is_of_block);
void tw_named(struct tw_context*, struct tw_warp*, uint32_t site, uint32_t mask);
void tw_local_read(struct tw_context*, struct tw_warp*, uint32_t site, uint32_t mask, uint64_t offset);
void tw_shuffle(struct tw_context*, struct tw_warp*, uint32_t site, uint32_t mask, uint32_t mode);

void tw_screen_runs(struct tw_context*, uint64_t base, const int32_t* runs, uint32_t count, uint32_t is_store, uint32_t is_shared);
void tw_screen_lanes(struct tw_context*, uint32_t site);

// The quick look: only where there is a context->screen.
void tw_suspect(struct tw_context*);
void tw_screen_buffer(struct tw_context*, struct tw_buffer*, uint32_t traits);
void tw_screen_lane(struct tw_context*, uint32_t site, uint32_t lane, const struct tw_place*);
void tw_screen_copy(struct tw_context*, uint32_t target, uint32_t size, int is_done);
void tw_screen_barrier(struct tw_context*);
void tw_screen_start(struct tw_context*);
void tw_screen_free(struct tw_screen*);
int tw_touch_local(struct tw_context*, uint32_t site, uint32_t lane, uint64_t first);

// Watching accesses: these do nothing unless context->watch.
void tw_watch_start(struct tw_context*, struct tw_block*);
void tw_watch_instruction(struct tw_context*, uint32_t site);
void tw_watch_lane(struct tw_context*, uint32_t site, uint32_t lane, uint64_t address, const struct tw_place*);
void tw_watch_copy(struct tw_context*, uint32_t site, uint32_t lane, uint64_t source, uint32_t bytes, uint32_t target, uint32_t size);
void tw_watch_copied(struct tw_context*, uint32_t site, uint32_t lane, uint32_t target, uint32_t size);
void tw_watch_arrival(struct tw_context*, uint32_t barrier, uint32_t site, uint32_t lanes);
void tw_watch_barrier(struct tw_context*, uint32_t barrier);
uint32_t tw_watch_meeting(struct tw_context*, uint32_t lane, uint32_t absent, uint32_t leaving, uint32_t named);
void tw_watch_free(struct tw_context*, struct tw_block*);

// Inside the runtime.
static inline struct tw_warp* tw_warp_at(const struct tw_context* context, uint64_t index) {
    return (struct tw_warp*)(context->block->warps + index * context->warp_bytes);
}
void tw_make_pending(struct tw_context*, struct tw_warp*, uint32_t block, uint32_t mask);
uint32_t tw_run_apart(struct tw_context*, struct tw_warp*);
uint32_t tw_run_on(struct tw_context*, struct tw_warp*, uint32_t status);
void tw_wait(struct tw_context*);
void tw_leave(struct tw_context*, struct tw_warp*);
void tw_report_deadlock(struct tw_context*);
uint32_t tw_waiting_at(const struct tw_context*, struct tw_warp*, uint32_t block);
int tw_is_stuck(struct tw_context*, struct tw_progress*);
void tw_report_stuck(struct tw_context*);
void tw_take_up(struct tw_context*, struct tw_block*);
enum tw_space tw_space_of(uint64_t address);
int tw_read(const struct tw_context*, uint32_t lane, uint64_t address, void* bytes, uint32_t size);
int tw_locate(const struct tw_context*, const struct tw_site*, uint64_t address, struct tw_place*);
struct tw_buffer* tw_find_buffer(const struct tw_context*, uint64_t address, uint64_t bytes);
uint32_t tw_count_sectors(const uint64_t* addresses, uint32_t mask, uint32_t bytes);
void tw_forget_copies(struct tw_context*);
void tw_free_copies(const struct tw_context*, struct tw_block*);
struct tw_fault* tw_report(struct tw_context*, const struct tw_warp*, enum tw_fault_kind, uint32_t site, uint32_t lane, uint64_t address);
