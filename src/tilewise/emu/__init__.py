"""The emulator: a PTX kernel translated to the CPU, one warp as 32-lane vectors, every access bounded and counted."""
