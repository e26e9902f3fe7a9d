// The plan of one build of the kernels in this folder. Every build renders its own copy of this file, with what its kernel needs;
// the numbers here are those that readers and editors see.
#pragma once

namespace plan {

// tiled.cu and sum_parts.cu
constexpr int BM = 128;           // block tile: rows of C
constexpr int BN = 128;           //             columns of C
constexpr int BK = 16;            //             depth of one k-step
constexpr int TM = 16;            // thread tile: rows of C
constexpr int TN = 8;             //              columns of C
constexpr int STAGES = 2;         // tiles in shared memory at a time
constexpr int COPY_PARTS = 4;     // into how many parts a k-step's copies are taken apart, where single words are copied
constexpr int BLOCKS_PER_SM = 2;  // what registers are shared out for
constexpr int A_WIDTH = 1;        // words a copy: 4 where lines run along memory and all are 16-byte aligned
constexpr int B_WIDTH = 4;
constexpr bool A_ROW_MAJOR = true;  // A is M x K
constexpr bool B_ROW_MAJOR = true;  // B is K x N

// dot.cu and columns.cu
constexpr int S = 8;            // rows at the most, all in each thread
constexpr int R = 4;            // lines a warp
constexpr int LINE_WARPS = 8;   // of 8 warps, those that lie along lines
constexpr int UNROLL = 2;       // passes whose loads are on their way together
constexpr bool VECTORS = true;  // four words at a time may be read

}  // namespace plan
