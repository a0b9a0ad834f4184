"""Measurements: python -m tb_planner.benchmark --help."""

try:
    import scipy  # noqa: F401
except ModuleNotFoundError:
    raise ModuleNotFoundError("the benchmarks need SciPy, and some need more: pip install '.[benchmark]'") from None
