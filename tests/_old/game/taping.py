"""A CUDA graph without a GPU: operations are recorded, and repeated on the same tensors."""

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

# Not allowed in a recording on a GPU: waiting for a number, and results whose size depends on one.
REFUSED = ("_local_scalar_dense", "nonzero", "unique", "masked_select", "equal", "bincount")


class Tape(TorchDispatchMode):
    """Records every operation while it is entered, for `replay`; then restores what they wrote to."""

    def __init__(self):
        super().__init__()
        self.notes, self.before = [], []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        name = func.overloadpacket.__name__
        assert not name.startswith(REFUSED), f"{name} cannot be recorded"
        assert name != "lift_fresh" or args[0].ndim == 0, "arrays from the CPU cannot be recorded"
        named = zip(args, func._schema.arguments, strict=False)  # others are given by name
        written = [each for each, argument in named if argument.is_write]
        self.before += [(each, each.clone()) for each in written]
        result = func(*args, **(kwargs or {}))
        self.notes.append((func, args, kwargs or {}, result))
        return result

    @torch.no_grad()
    def __exit__(self, *error):
        super().__exit__(*error)
        for written, before in reversed(self.before):
            written.copy_(before)

    @torch.no_grad()
    def replay(self):
        for func, args, kwargs, result in self.notes:
            again = func(*args, **kwargs)
            for place, value in zip(tree_leaves(result), tree_leaves(again), strict=True):
                if isinstance(place, torch.Tensor) and place.data_ptr() != value.data_ptr():
                    place.copy_(value)


def tape_rounds(monkeypatch):
    """Let rounds on the CPU be recorded too; the recordings made are appended to what is returned."""
    tapes = []

    def captured(recorder, work):
        with Tape() as tape:
            work()
        tapes.append(tape)
        return tape.replay

    monkeypatch.setattr("ratebound._old.game._recording.recordable", lambda example: True)
    monkeypatch.setattr("ratebound._old.game._recording.Recorder._aside", lambda self, work: work())
    monkeypatch.setattr("ratebound._old.game._recording.Recorder._captured", captured)
    return tapes
