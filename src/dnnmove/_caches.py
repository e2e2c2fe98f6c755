"""Empties every cache of the package: the compiled module's and those kept in Python."""

from dnnmove import _chain, _core

__all__ = ["clear_caches"]


def clear_caches() -> None:
    """Forget all plans and composed chains, and return the memory kept for new results.

    Primitives and built chains that the caller holds keep what they need.

    Notes
    -----
    Plans go as the threads make their next call. The memory of large results (256 KiB and more) is kept when they
    are dropped, since fresh memory costs more than the copy into it: up to a sixteenth of the machine's memory, at
    most 1 GiB, in at most 256 buffers. It goes back to the system here, at once. The environment variable
    DNNMOVE_POOL, read on import, gives another limit in bytes, as in 268435456 or 256M, or turns this off: 0.

    Examples
    --------
    >>> import dnnmove as dm
    >>> dm.clear_caches()
    """
    _core.clear_caches()
    _chain.clear()
