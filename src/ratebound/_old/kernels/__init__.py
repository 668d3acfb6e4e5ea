"""Numerical kernels: each with a plain version in NumPy or PyTorch, and faster ones beside it.

Operations that take many passes in NumPy or PyTorch are one loop that numba compiles, or one Triton
kernel on a GPU (`*_triton.py`). `dispatch` decides which version runs, and tests compare them.
"""
