"""Measurements: python -m benchmarks --help."""

try:
    import scipy  # noqa: F401
except ModuleNotFoundError:
    raise ModuleNotFoundError("the benchmarks need SciPy, and some need more: pip install '.[benchmark]'") from None
