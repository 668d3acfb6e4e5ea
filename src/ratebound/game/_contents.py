"""What a setting is, by its content: two games share a file only if all that decides them is the same.

Numbers, texts and containers are themselves, arrays and tensors their bytes, other objects what pickle
would write of them. Functions and classes of a library are their names. Those of one's own are their
code, with what it refers to, so that a function is another once its code or a number in it is. What
cannot be told from another by its content is refused.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Mapping
from copyreg import dispatch_table
from dataclasses import fields, is_dataclass
from functools import cache, cached_property
from os import PathLike, fspath
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from ratebound.base.arrays import namespace
from ratebound.game._state import PLAIN

OWN = __name__.partition(".")[0]


class Contents:
    """Contents of values as plain JSON, in which all but numbers and texts is a digest."""

    def __init__(self) -> None:
        self.done: dict[int, tuple[Any, Any]] = {}  # with the values, so that no id is used again
        self.open: list[int] = []  # values that are being looked at, from the outermost on
        self.tensors: dict[int, int] = {}  # their numbers: tied parameters are not two equal ones

    def of(self, value: Any, where: str) -> Any:
        """The content of the value that `where` names."""
        if isinstance(value, PLAIN):
            return value
        if id(value) in self.open:  # it holds itself
            return {"outer": len(self.open) - self.open.index(id(value))}
        if id(value) not in self.done:
            self.open.append(id(value))
            found = json.dumps(self._parts(value, where)).encode()
            self.done[id(value)] = [_digest(found)], value
            self.open.pop()
        return self.done[id(value)][0]

    def _parts(self, value: Any, where: str) -> Any:
        if isinstance(value, bytes):
            return {"bytes": _digest(value)}
        if isinstance(value, PathLike):
            return {"path": fspath(value)}
        if isinstance(value, tuple | list):
            return [self.of(each, f"{where}[{i}]") for i, each in enumerate(value)]
        if isinstance(value, set | frozenset):
            return {"set": sorted(json.dumps(self.of(each, where)) for each in value)}
        if isinstance(value, Mapping):
            pairs = ([self.of(k, where), self.of(v, f"{where}[{k!r}]")] for k, v in value.items())
            return {"type": self.of(type(value), where), "pairs": list(pairs)}
        if isinstance(value, np.ndarray | np.generic) or namespace(value) is not np:
            return self._array(value, where)
        if isinstance(value, ModuleType):
            return {"module": value.__name__, "file": _file_of(value.__name__)}
        if isinstance(value, type):
            return self._type(value, where)
        if isinstance(value, FunctionType):
            return self._function(value, where)
        return self._object(value, where)

    def _array(self, value: Any, where: str) -> Any:
        if namespace(value) is np:
            array = np.asarray(value)
            if array.dtype.hasobject:
                return {"array": list(array.shape), "of": self.of(array.ravel().tolist(), where)}
            return {"array": [array.dtype.str, array.shape], "bytes": _digest(array.tobytes())}
        try:
            flat = value.detach().cpu().contiguous().reshape(-1).view(namespace(value).uint8).numpy()
        except RuntimeError as error:
            raise _unnamed(where, value, error) from error
        number = self.tensors.setdefault(id(value), len(self.tensors))
        about = [number, str(value.dtype), list(value.shape), value.requires_grad]
        return {"tensor": about, "bytes": _digest(flat.tobytes())}

    def _type(self, kind: type, where: str) -> Any:
        """A class by its name, and by its members where it is the caller's own."""
        name = f"{kind.__module__}.{kind.__qualname__}"
        if _of_library(kind.__module__):
            return name
        bare = ("__dict__", "__weakref__", "__doc__", "__module__", "__static_attributes__",
                "__firstlineno__", "__annotations__", "_abc_impl")  # fmt: skip
        own = {n: _plain_member(m) for n, m in vars(kind).items() if n not in bare}
        return {
            "class": name,
            "bases": [self.of(base, where) for base in kind.__bases__],
            "members": [[n, self.of(own[n], f"{where}.{n}")] for n in sorted(own)],
        }

    def _function(self, function: FunctionType, where: str) -> Any:
        """A function by its name, and by its code and what that refers to where it is the caller's."""
        name = f"{function.__module__}.{function.__qualname__}"
        if function.__module__ is not None and _of_library(function.__module__):
            return name
        code = function.__code__
        cells = zip(code.co_freevars, function.__closure__ or (), strict=True)
        used = {
            name: function.__globals__[name]
            for name in sorted(_names(code) & function.__globals__.keys())
        }
        return {
            "function": name,
            "code": self._code(code, where),
            "defaults": self.of([function.__defaults__, function.__kwdefaults__], where),
            "closure": [[n, self.of(_inside(cell), f"{where}: {n}")] for n, cell in cells],
            "uses": [[n, self.of(each, f"{where}: {n}")] for n, each in used.items()],
        }

    def _code(self, code: CodeType, where: str) -> Any:
        constants = [
            self._code(each, where) if isinstance(each, CodeType) else self.of(each, where)
            for each in code.co_consts
        ]
        about = [code.co_names, code.co_varnames, code.co_freevars, code.co_argcount, code.co_flags]
        return [_digest(code.co_code), constants, str(about)]

    def _object(self, value: Any, where: str) -> Any:
        kind = self.of(type(value), where)
        if is_dataclass(value):
            own = {each.name: getattr(value, each.name) for each in fields(value)}
        elif hasattr(value, "get_params"):
            own = value.get_params(deep=False)
        else:
            return {"type": kind, "state": self._reduced(value, where)}
        return {"type": kind, "parts": [[n, self.of(own[n], f"{where}.{n}")] for n in sorted(own)]}

    def _reduced(self, value: Any, where: str) -> Any:
        """What pickle would write of an object."""
        try:
            reduce = dispatch_table.get(type(value))
            found = value.__reduce_ex__(4) if reduce is None else reduce(value)
        except Exception as error:  # whatever an object says that cannot be pickled
            raise _unnamed(where, value, error) from error
        if isinstance(found, str):  # something global
            return f"{getattr(value, '__module__', None)}.{found}"
        made, given, *rest = found
        later = [list(each) if i else each for i, each in enumerate(rest[:3]) if each is not None]
        return [self.of(each, where) for each in (made, given, *later)]


def _unnamed(where: str, value: Any, error: Exception) -> ValueError:
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    return ValueError(
        f"a game in a folder is named by the content of its settings, and {where} holds a {kind}, whose "
        f"content cannot be read ({error}): give a setting that can be pickled, or no folder"
    )


def _plain_member(member: Any) -> Any:
    """What a class holds, where it is wrapped in what pickle does not know."""
    if isinstance(member, staticmethod | classmethod):
        return member.__func__
    if isinstance(member, property):
        return [member.fget, member.fset]
    if isinstance(member, cached_property):
        return member.func
    described = hasattr(type(member), "__get__") and not isinstance(member, FunctionType)
    return type(member).__qualname__ if described else member  # such as a slot


def _inside(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # a variable that has no value yet
        return None


def _names(code: CodeType) -> set[str]:
    """The names that code looks up, and functions inside it do."""
    inner = (each for each in code.co_consts if isinstance(each, CodeType))
    return set(code.co_names).union(*map(_names, inner))


@cache
def _of_library(module: str) -> bool:
    """Whether a module is Python's, ours, or an installed one, which its name stands for."""
    top = module.partition(".")[0]
    if top == OWN or top in sys.stdlib_module_names:
        return True
    file = getattr(sys.modules.get(top), "__file__", None)
    return file is not None and bool({"site-packages", "dist-packages"} & set(Path(file).parts))


def _file_of(module: str) -> str | None:
    """The digest of the file of a module that is not a library's."""
    file = getattr(sys.modules.get(module), "__file__", None)
    if file is None or _of_library(module):
        return None
    return _digest(Path(file).read_bytes())


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
