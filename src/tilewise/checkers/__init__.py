"""Facts and counters in words: what is wrong with a kernel, at its source lines, and what would put it right."""
