"""Libraries that only some tests need; without one of them, the tests that use it are skipped."""

from typing import Any

import pytest


class Extra:
    """A library that is imported when a test first asks it for something."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("_"):  # pytest asks every object of a module for such
            raise AttributeError(attribute)
        return getattr(pytest.importorskip(self._name), attribute)


pa, pd, pl, torch = Extra("pyarrow"), Extra("pandas"), Extra("polars"), Extra("torch")
lightgbm, xgboost, dask = Extra("lightgbm"), Extra("xgboost"), Extra("dask.distributed")
