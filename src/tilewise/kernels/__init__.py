"""The ladder of kernels: which rungs there are, what each claims, and its CUDA source for a plan."""
