"""The GPU runtime: launches on NVIDIA's driver, views of others' arrays, timing and counters."""
