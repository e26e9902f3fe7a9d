// What compiled kernels, the scheduler and the Python side agree on. abi.py mirrors these structures field by field; the library tells
// their sizes (tw_abi), and a mismatch is refused when it is loaded.
#pragma once

#include <stdint.h>

enum { TW_LANES = 32, TW_ELEMENTS = 8 };

// How a compiled kernel comes back to the scheduler.
enum tw_status {
    TW_EXITED = 1,       // no lane of the warp is left
    TW_AT_BARRIER = 2,   // every lane that is left waits at warp->barrier
    TW_TO_FAST = 3,      // all lanes are together again at block warp->resume
    TW_TO_CAREFUL = 4,   // run block warp->resume lane by lane: a check failed, nothing of it has happened yet
    TW_DIVERGED = 5,     // lanes went different ways: pending blocks and masks say where
    TW_STOPPED = 6,      // somebody asked to stop
    TW_UNSUPPORTED = 7,  // an instruction without a form was reached: warp->wait_site is its number
};

enum tw_space { TW_GLOBAL = 0, TW_SHARED = 1 };

enum tw_fault_kind {
    TW_OUT_OF_BOUNDS = 0,
    TW_MISALIGNED = 1,
    TW_READ_ONLY = 2,
    TW_BARRIER_DIVERGENCE = 3,
    TW_DEADLOCK = 4,
    TW_OUT_OF_SHARED = 5,  // the shared side of a copy
};

// One warp between two calls. Registers that live across basic blocks follow the masks; the compiled kernel alone knows where.
struct tw_warp {
    uint32_t resume;     // block to go on with, in execution order
    uint32_t mask;       // lanes of the block that now runs lane by lane
    uint32_t live;       // lanes that have not exited
    uint32_t waiting;    // lanes that wait at the barrier
    uint32_t barrier;    // its id
    uint32_t status;     // enum tw_status of the last return; 0 before the first
    uint32_t careful;    // whether to go on lane by lane
    uint32_t insist;     // run the next block lane by lane though all lanes are together
    uint32_t wait_site;  // the barrier instruction, numbered as sites are
    uint32_t unused[7];
    uint64_t words[];  // blocks of pending lanes [words], of waiting lanes [words], then the masks of both (uint32_t [blocks] each)
};

// A buffer of the launch: virtual addresses low..high (high exclusive) stand at address + delta in this process.
struct tw_buffer {
    uint64_t low, high, delta, writable;
};

// The last buffer that a group of accesses fell in: its lowest byte, at address a, is inside if a - low < starts. All zero: none yet.
struct tw_range {
    uint64_t low, starts, delta;
};

struct tw_site {
    uint32_t space, is_store, element_bytes, elements;
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
};

struct tw_context;
typedef uint32_t tw_kernel(struct tw_context*, struct tw_warp*);

// One host thread's view of a launch. Compiled kernels read the fields down to warp_index.
struct tw_context {
    const uint8_t* params;
    uint8_t* shared;
    uint64_t* block_counts;  // for each block: times it ran with all lanes; times it ran lane by lane; lanes of the latter
    struct tw_range* ranges;
    uint64_t* histograms;
    const volatile int32_t* stop;
    const uint32_t* thread_ids;  // x of every thread, then y, then z
    void *access, *count, *resolve, *next, *park, *copy_copy, *copy_commit, *copy_wait;
    uint64_t shared_bytes;
    uint32_t ctaid[3], nctaid[3];
    uint32_t warp_index, unused;

    struct tw_site_counts* site_counts;
    const struct tw_site* sites;
    const struct tw_buffer* buffers;
    uint64_t buffer_count;
    struct tw_fault* faults;
    uint64_t fault_count, fault_capacity, faults_lost;
    uint64_t barriers;

    tw_kernel *fast, *careful;
    tw_kernel* (*compile_careful)(void);
    uint8_t* warps;
    uint64_t warp_bytes, warp_count, threads, words, blocks;
    uint64_t* next_block;      // shared by all host threads
    struct tw_copies* copies;  // one a warp, made when the first copy is asked for
    uint64_t last_block, chunk;
    const uint64_t* chosen;  // numbers of the last_block blocks to run, counted along x, then y, then z; null: all of the grid

    _Alignas(64) uint64_t addresses[TW_LANES];
    _Alignas(64) uint8_t values[TW_ELEMENTS * TW_LANES * 8];  // element by element, 32 lanes each
};

// Called by compiled kernels.
void tw_access(struct tw_context*, struct tw_warp*, uint32_t site, uint32_t mask, uint32_t counted);
void tw_count(struct tw_context*, uint32_t site, uint32_t mask);
uint32_t tw_resolve(struct tw_context*, uint32_t group, uint64_t address, uint64_t extent, uint32_t is_store);
int32_t tw_next(struct tw_context*, struct tw_warp*);
void tw_park(struct tw_context*, struct tw_warp*, uint32_t resume, uint32_t barrier, uint32_t site);
void tw_copy(struct tw_context*, uint32_t site, uint32_t mask);
void tw_copy_commit(struct tw_context*, uint32_t mask);
void tw_copy_wait(struct tw_context*, uint32_t mask, int32_t pending);

// Inside the runtime.
const struct tw_buffer* tw_find_buffer(const struct tw_context*, uint64_t address, uint64_t bytes);
uint32_t tw_count_sectors(const uint64_t* addresses, uint32_t mask, uint32_t bytes);
void tw_forget_copies(struct tw_context*);
void tw_free_copies(struct tw_context*);
void tw_report(struct tw_context*, const struct tw_warp*, enum tw_fault_kind, uint32_t site, uint32_t lane, uint64_t address);
