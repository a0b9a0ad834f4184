"""Stands in for the module cython where compiled modules run as plain Python and Cython is not installed."""

from contextlib import nullcontext

compiled = False
nogil = nullcontext()
