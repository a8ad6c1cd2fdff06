"""Modules of benchmarks/, which have plain names and import each other by them."""

import importlib
import sys
from types import ModuleType

from tests.conftest import ROOT


def benchmark(name: str) -> ModuleType:
    place = str(ROOT / "benchmarks")
    sys.path.insert(0, place)
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(place)
