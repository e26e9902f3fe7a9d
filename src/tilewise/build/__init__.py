"""Turns CUDA sources into PTX, cubins and resource use with NVRTC, and keeps them in a cache on disk."""
