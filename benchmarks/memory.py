"""Ready memory for the measurements: touched arenas on huge pages that every case carves its arrays from."""

from __future__ import annotations

import mmap

import numpy as np

HUGE_PAGE = 2 << 20
GUARD = 4096  # bytes behind the last output that nothing may touch
POISON = 0x5A


class Arena:
    """A block of memory, huge-page aligned; arrays are cut from its front, one after another."""

    def __init__(self, size: int) -> None:
        self.size = -(-size // HUGE_PAGE) * HUGE_PAGE
        self._map = mmap.mmap(-1, self.size + HUGE_PAGE)
        if hasattr(mmap, "MADV_HUGEPAGE"):
            self._map.madvise(mmap.MADV_HUGEPAGE)
        whole = np.frombuffer(self._map, np.uint8)
        shift = -whole.ctypes.data % HUGE_PAGE
        self.bytes = whole[shift : shift + self.size]
        self.bytes[:] = POISON
        self.used = 0

    def reset(self) -> None:
        self.used = 0

    def randomize(self, seed: int = 1) -> None:
        words = self.bytes.view(np.uint64)
        words[:] = np.random.default_rng(seed).integers(0, 1 << 64, words.size, np.uint64)

    def poison(self) -> None:
        """Overwrites all that was cut from the arena, and the guard behind it."""
        self.bytes[: self.used + GUARD] = POISON

    def take(self, shape: tuple[int, ...], dtype: np.dtype, offset: int = 0) -> np.ndarray:
        """A dense array whose base lies `offset` bytes behind a 64-byte boundary."""
        start = -(-self.used // 64) * 64 + offset
        array = np.ndarray(shape, dtype, buffer=self.bytes, offset=start)
        self.used = start + array.nbytes
        return array

    @property
    def address(self) -> int:
        return self.bytes.ctypes.data


class Memory:
    """The source, the destination and the expected result, each in its own arena."""

    def __init__(self, source: int, destination: int) -> None:
        self.src = Arena(max(source, destination) + HUGE_PAGE)
        self.src.randomize()
        self.dst = Arena(destination + HUGE_PAGE)
        self.expected = Arena(destination + HUGE_PAGE)

    def reset(self) -> None:
        self.src.reset()
        self.dst.reset()
        self.expected.reset()
