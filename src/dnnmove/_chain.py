"""The lazy eager form of chains: steps noted on an array that is there already, run when asked."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dnnmove import _core
from dnnmove._core import BuiltChain, Chain, Memory, _steps

if TYPE_CHECKING:
    from dnnmove._core import _Steps
else:
    _Steps = object

__all__ = ["LazyArray", "chain"]


@functools.lru_cache(maxsize=256)
def _built(steps: Chain) -> BuiltChain:
    return steps.build()


def clear() -> None:
    """Forget what `LazyArray.run` composed."""
    _built.cache_clear()


class LazyArray(_Steps):
    """An array and the steps to take from it; made by `chain`, run by `run`.

    The methods that add a step are those of `Chain`: each checks its arguments, notes the step and
    returns a new LazyArray. ``np.asarray(lazy)`` runs the steps too; nothing else does.

    Parameters
    ----------
    array : array or tuple of arrays
        What the steps are taken on.
    steps : Chain
        The steps so far.
    """

    __slots__ = ("_array", "_steps")

    def __init__(self, array: Any, steps: Chain) -> None:
        self._array = array
        self._steps = steps

    @property
    def steps(self) -> Chain:
        """The steps so far, as a Chain for any array that lies as this one does."""
        return self._steps

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy dtype of the result, or of the first one where the steps split."""
        return (*(desc.dtype for desc in self._steps.dst_descs), self._steps.src_descs[0].dtype)[0]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the result, where the steps do not split."""
        try:
            return self._steps.dst_desc.dims
        except AttributeError:
            raise AttributeError("shape: the steps split, see shapes") from None

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """The shapes of all results."""
        return tuple(desc.dims for desc in self._steps.dst_descs)

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
        """Return how the steps fold and how they will run.

        Returns
        -------
        str
            Several lines, which docs/explain.md reads.
        """
        return _built(self._steps).explain()

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        """Run the steps: what ``numpy.asarray`` calls."""
        if not hasattr(self, "shape"):
            raise TypeError(
                f"the steps split, into {len(self.shapes)} arrays: run() returns them, np.asarray takes one only"
            )
        if copy is False:
            raise ValueError("copy=False is not possible: the steps make a new array")
        result = self.run()
        array = result.numpy() if isinstance(result, Memory) else np.asarray(result)
        return array if dtype is None else array.astype(dtype, copy=False)

    def __repr__(self) -> str:
        """Name what the steps give, and the steps."""
        shapes = f"shape {self.shape}" if hasattr(self, "shape") else f"shapes {_some(self.shapes)}"
        return _core._abbreviated(f"<LazyArray of {shapes} and dtype {self.dtype}: {self._steps!r}>")


def _some(shapes: tuple[tuple[int, ...], ...]) -> str:
    shown = ", ".join(map(str, shapes[:6]))
    return f"[{shown}]" if len(shapes) <= 6 else f"[{shown} and {len(shapes) - 6} more]"


def _noting(method: Callable[..., Chain]) -> Callable[..., LazyArray]:
    """A method of LazyArray that notes a step: `method` of its Chain."""

    @functools.wraps(method)
    def note(self: LazyArray, *args: Any, **kwargs: Any) -> LazyArray:
        return LazyArray(self._array, method(self._steps, *args, **kwargs))

    note.__module__ = __name__
    note.__qualname__ = f"LazyArray.{method.__name__}"
    note.__doc__ = (method.__doc__ or "").replace("\nChain\n", "\nLazyArray\n")
    return note


for _name in _steps:
    setattr(LazyArray, _name, _noting(getattr(Chain, _name)))


def chain(array: Any) -> LazyArray:
    """Note steps on an array, to run them in one trip through memory.

    The lazy spelling of `Chain` for an array that is at hand. Each method notes a step;
    ``run()`` composes the steps and runs them. What was composed is kept for the next array of the
    same layout with the same steps, but every step is still checked on every call: where a few
    microseconds count, build a `Chain` once.

    Parameters
    ----------
    array : array, or list or tuple of arrays
        NumPy array of any strides, torch tensor or any CPU object with ``__dlpack__``; several, which the first
        step (`Chain.stack` or `Chain.concat`) joins.

    Returns
    -------
    LazyArray
        Without steps.

    Raises
    ------
    TypeError
        `array` is no array, or several have different dtypes.
    ValueError
        The list is empty.

    Examples
    --------
    >>> import numpy as np, dnnmove as dm
    >>> x = np.arange(8).reshape(1, 8)
    >>> a, b = dm.chain(x).shuffle_channels(axis=1, group=2).split(axis=1, num_splits=2).run()
    >>> a.tolist(), b.tolist()
    ([[0, 4, 1, 5]], [[2, 6, 3, 7]])
    >>> dm.chain([x, x + 10]).concat(axis=1).split(axis=1, num_splits=2).run()[1].tolist()
    [[10, 11, 12, 13, 14, 15, 16, 17]]
    """
    return LazyArray(tuple(array) if isinstance(array, list) else array, Chain.of(array))
