"""The emulator's virtual address space: which generic addresses belong to which state space.

Local, constant, parameter and global addresses are generic addresses as they stand; a shared address counts from the start of the
block's shared memory, and its generic address from SHARED_WINDOW.
"""

LOCAL_WINDOW = 0x0100_0000
SHARED_WINDOW = 0x0200_0000
PARAMETER_WINDOW = 0x0300_0000
CODE_WINDOW = 0x0400_0000
WINDOW_BYTES = 0x0100_0000
"""Each of those windows: more than any thread, block or kernel has. Below the first, nothing is mapped."""
CODE_STEP = 16
"""Between the addresses of two functions."""
CONSTANT_BASE, CONSTANT_GAP = 0x1000_0000, 1 << 16
GLOBAL_BASE, GLOBAL_GAP = 0x7E00_0000_0000, 1 << 20
"""Module variables, each followed by so much unmapped."""
ARGUMENTS_BASE = 0x7F00_0000_0000
"""Buffers of the launch, with gaps as large."""
BUFFER_ALIGN = 512
"""Where cudaMalloc starts a buffer: sectors then do not depend on where NumPy put an array."""
