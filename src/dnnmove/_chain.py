"""The lazy eager form of chains: steps noted on an array that is there already, run when asked."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from dnnmove._core import BuiltChain, Chain

__all__ = ["LazyArray", "chain"]


@lru_cache(maxsize=256)
def _built(steps: Chain) -> BuiltChain:
    return steps.build()


def clear() -> None:
    """Forget what `LazyArray.run` composed."""
    _built.cache_clear()


class LazyArray:
    """An array and the steps to take from it; made by `chain`, run by `run`.

    The methods are those of `Chain`: each checks its arguments, notes the step and returns a new
    LazyArray. Nothing else runs them: there is no ``__array__``, no attribute that copies.
    """

    __slots__ = ("_array", "_steps")

    def __init__(self, array: Any, steps: Chain) -> None:
        self._array = array
        self._steps = steps

    @property
    def steps(self) -> Chain:
        """The steps so far, as a Chain for any array that lies as this one does."""
        return self._steps

    def shuffle(self, axis: int, group_size: int) -> LazyArray:
        """Note oneDNN's shuffle; `group_size` is the size of one group."""
        return LazyArray(self._array, self._steps.shuffle(axis, group_size))

    def shuffle_channels(self, axis: int = 1, group: int = 1) -> LazyArray:
        """Note OpenVINO's ShuffleChannels; `group` is the number of groups."""
        return LazyArray(self._array, self._steps.shuffle_channels(axis, group))

    def transpose(self, input_order: Sequence[int] = ()) -> LazyArray:
        """Note a transpose; an empty order reverses the axes."""
        return LazyArray(self._array, self._steps.transpose(input_order))

    def variadic_split(self, axis: int, split_lengths: Sequence[int]) -> LazyArray:
        """Note a split into parts of given lengths; further steps apply to every part."""
        return LazyArray(self._array, self._steps.variadic_split(axis, split_lengths))

    def split(self, axis: int, num_splits: int) -> LazyArray:
        """Note a split into equal parts; further steps apply to every part."""
        return LazyArray(self._array, self._steps.split(axis, num_splits))

    def broadcast(
        self, target_shape: Sequence[int], axes_mapping: Sequence[int] | None = None, mode: str = "numpy"
    ) -> LazyArray:
        """Note a broadcast; `mode` is "numpy", "explicit" or "bidirectional"."""
        return LazyArray(self._array, self._steps.broadcast(target_shape, axes_mapping, mode))

    def reshape(self, shape: Sequence[int]) -> LazyArray:
        """Note a change of shape; one length may be -1."""
        return LazyArray(self._array, self._steps.reshape(shape))

    def index(self, key: Any) -> LazyArray:
        """Note basic indexing: integers, slices, None and Ellipsis."""
        return LazyArray(self._array, self._steps.index(key))

    def branch(self, i: int | None) -> LazyArray:
        """Turn to output `i` of the steps so far, or to all of them again."""
        return LazyArray(self._array, self._steps.branch(i))

    def run(self, *, out: Any = None) -> Any:
        """Run the steps, all in one call.

        Parameters
        ----------
        out : array or sequence of arrays, optional
            Receives the result; a sequence where the steps split.

        Returns
        -------
        array or tuple of arrays
            New and C-contiguous unless `out` is given; a tuple where the steps split.
        """
        return _built(self._steps)(self._array, out=out)

    def explain(self) -> str:
        """Return how the steps fold and how they will run."""
        return _built(self._steps).explain()

    def __repr__(self) -> str:
        """Name the steps."""
        return f"<LazyArray of {self._steps!r}>"


def chain(array: Any) -> LazyArray:
    """Note steps on an array, to run them in one trip through memory.

    The lazy spelling of `Chain` for an array that is at hand. Each method notes a step;
    ``run()`` composes the steps and runs them. What was composed is kept for the next array of the
    same layout with the same steps, but every step is still checked on every call: where a few
    microseconds count, build a `Chain` once.

    Parameters
    ----------
    array : array
        NumPy array of any strides, torch tensor or any CPU object with ``__dlpack__``.

    Returns
    -------
    LazyArray
        Without steps.

    Raises
    ------
    TypeError
        `array` is no array.

    Examples
    --------
    >>> import numpy as np, dnnmove as dm
    >>> x = np.arange(8).reshape(1, 8)
    >>> a, b = dm.chain(x).shuffle_channels(axis=1, group=2).split(axis=1, num_splits=2).run()
    >>> a.tolist(), b.tolist()
    ([[0, 4, 1, 5]], [[2, 6, 3, 7]])
    """
    return LazyArray(array, Chain.of(array))
