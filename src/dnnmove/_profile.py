"""What ran, how long it took and how fast it moved: the calls of a stretch of code, gathered."""

from types import TracebackType
from typing import Any

from dnnmove import _core

__all__ = ["profile"]

Shape = tuple[int, ...]
HEADERS = ("name", "implementation", "shapes", "dtype", "calls", "total ms", "mean us", "GB/s", "share")
MOST_SHAPES = 3  # of a call's inputs, and of its outputs; of more only the first is shown


def _shapes(record: dict[str, Any]) -> str:
    """The inputs and the outputs: "32x64x56x56 -> 32x56x56x64"."""

    def side(shapes: tuple[Shape, ...]) -> str:
        texts = ["x".join(map(str, shape)) or "scalar" for shape in shapes]
        if len(texts) <= MOST_SHAPES:
            return ", ".join(texts)
        return f"{texts[0]} and {len(texts) - 1} more"

    return " -> ".join((side(record["shapes"][: record["inputs"]]), side(record["shapes"][record["inputs"] :])))


class profile:  # noqa: N801  (a context manager, named as num_threads is)
    """Context manager: gather the calls of all threads while it is entered.

    Eager functions, primitives, built chains and reorders count, whichever implementation runs them; calls
    that move nothing do not. Profiles may be nested, and each sees the calls. One may be entered again later
    and goes on where it stopped.

    Attributes
    ----------
    records : list of dict
        One per call, in the order in which they ended, with these keys.

        name : str
            "transpose", "shuffle_backward", "chain", "reorder", ...
        implementation : str
            As ``impl_info_str``: "native:avx512", "onednn:jit:avx512_core".
        shapes : tuple of tuple of int
            Of the inputs, then of the outputs.
        inputs : int
            How many of the shapes are inputs'.
        dtype : numpy.dtype or str
            Of the first input; a str where NumPy has no such dtype.
        bytes : int
            Read and written, padding and the intermediate results of a chain included.
        seconds : float
            Of the copies alone: neither checks, nor new memory, nor a first call's planning.
        passes : int
            Trips through memory; 1 but for chains that did not compose.

    Notes
    -----
    A call that nobody watches pays one test of a flag for it. What is watched releases the GIL however little it
    moves, and takes some microseconds more.

    Examples
    --------
    >>> import numpy as np, dnnmove as dm
    >>> x = np.zeros((8, 3, 32, 32), "f4")
    >>> with dm.profile() as p:
    ...     y = dm.transpose(x, (0, 2, 3, 1))
    ...     a, b = dm.split(x, 0, 2)
    >>> [(record["name"], record["shapes"][0], record["bytes"]) for record in p.records]
    [('transpose', (8, 3, 32, 32), 196608), ('split', (8, 3, 32, 32), 196608)]
    >>> p.table().splitlines()[0].split()[:4]
    ['name', 'implementation', 'shapes', 'dtype']
    """

    def __init__(self) -> None:
        self.records: list[dict[str, Any]] = []
        self._entered = False

    def __enter__(self) -> "profile":
        """Begin to gather."""
        if self._entered:
            raise ValueError("this profile is entered already: nest another one")
        _core._watch(self.records)
        self._entered = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        """Gather no more."""
        _core._unwatch(self.records)
        self._entered = False

    def table(self) -> str:
        """Text: calls of the same kind on the same shapes in a line, those that took longest first.

        Returns
        -------
        str
            Columns name, implementation, shapes, dtype, calls, total ms, mean us, GB/s (of bytes read and
            written) and the share of the time; below them the sums.
        """
        kinds: dict[tuple[str, ...], tuple[int, float, int]] = {}
        for record in self.records:
            kind = (record["name"], record["implementation"], _shapes(record), str(record["dtype"]))
            calls, seconds, size = kinds.get(kind, (0, 0.0, 0))
            kinds[kind] = (calls + 1, seconds + record["seconds"], size + record["bytes"])
        whole = sum(seconds for _, seconds, _ in kinds.values())

        def figures(calls: int, seconds: float, size: int) -> tuple[str, ...]:
            return (
                str(calls),
                f"{seconds * 1e3:.3f}",
                f"{seconds / max(calls, 1) * 1e6:.2f}",
                f"{size / seconds * 1e-9:.1f}" if seconds else "",
                f"{seconds / whole:.1%}" if whole else "",
            )

        ordered = sorted(kinds.items(), key=lambda item: item[1][1], reverse=True)
        rows = [HEADERS, *((*kind, *figures(*sums)) for kind, sums in ordered)]
        totals = [sum(column) for column in zip(*kinds.values(), strict=True)] or [0, 0.0, 0]
        rows.append(("all", "", "", "", *figures(int(totals[0]), totals[1], int(totals[2]))))
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        left = 4  # columns of words
        lines = []
        for row in rows:
            cells = (
                text.ljust(width) if k < left else text.rjust(width)
                for k, (text, width) in enumerate(zip(row, widths, strict=True))
            )
            lines.append("  ".join(cells).rstrip())
        return "\n".join(lines)

    def __repr__(self) -> str:
        seconds = sum(record["seconds"] for record in self.records)
        return f"<profile of {len(self.records)} calls, {seconds * 1e3:.3f} ms>"
