"""Measurements: python -m tb_planner.benchmark --help."""
