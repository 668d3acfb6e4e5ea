"""Lattice models: the module, and its arithmetic plainly, in compiled loops, and in kernels of a GPU."""
