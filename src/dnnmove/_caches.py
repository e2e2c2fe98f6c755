"""Empties every cache of the package: the compiled module's and those kept in Python."""

from dnnmove import _chain, _core

__all__ = ["clear_caches"]


def clear_caches() -> None:
    """Forget all plans and composed chains; memory returns as the threads make their next call.

    Primitives and built chains that the caller holds keep what they need.
    """
    _core.clear_caches()
    _chain.clear()
