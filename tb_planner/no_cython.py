"""Stands in for the module cython where kernel.py runs uncompiled and Cython is not installed."""

from contextlib import nullcontext

compiled = False
nogil = nullcontext()
