// The tile plan of one build. Every build renders its own copy of this file; the numbers here are the default that readers and
// editors see.
#pragma once

namespace plan {

constexpr int BM = 32;  // block tile: rows of C
constexpr int BN = 32;  //             columns of C
constexpr int BK = 32;  //             depth of one k-step
constexpr int TM = 1;   // thread tile: rows of C
constexpr int TN = 1;   //              columns of C

constexpr bool A_ROW_MAJOR = true;  // A is M x K
constexpr bool B_ROW_MAJOR = true;  // B is K x N

}  // namespace plan
