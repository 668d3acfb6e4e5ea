"""Numerical kernels: each with a plain version in NumPy or PyTorch, and faster ones beside it.

What takes many passes in NumPy or PyTorch is one loop that numba compiles, or one kernel in Triton on a
GPU (`*_triton.py`). `dispatch` decides which version runs, and tests compare them.
"""
