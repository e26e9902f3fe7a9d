// How rows of a tile fall into the 32 banks of shared memory, each one 4-byte word wide.
#pragma once

// Words of padding a row for a tile that a warp's store transposes: consecutive lanes step down `run` rows, then on to the next
// column. Rows that begin 32 / run banks apart then take 32 lanes to 32 different banks.
__device__ constexpr int bank_pad(int run) { return run < 32 ? 32 / run : 1; }
