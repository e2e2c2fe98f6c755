"""Layouts by format tag: the physical array of logical dims, and a shuffle of its channels in NumPy."""

from __future__ import annotations

import re

import numpy as np

from benchmarks.case import Case


def block_of(layout: str) -> int:
    """Channels per block: 16 for "nChw16c", 0 for the plain layouts."""
    match = re.search(r"(\d+)c$", layout)
    return int(match[1]) if match else 0


def physical_shape(case: Case) -> tuple[int, ...]:
    """The dense array that the bytes of `case.shape` (N, C, spatial) form in the case's layout."""
    n, channels, *spatial = case.shape
    layout = case.params["layout"]
    block = block_of(layout)
    if block:
        return (n, -(-channels // block), *spatial, block)
    return (n, *spatial, channels) if layout.endswith("c") else case.shape


def channel(case: Case, physical: np.ndarray, c: int) -> np.ndarray:
    """The elements of channel `c`, a view."""
    block = block_of(case.params["layout"])
    if block:
        return physical[:, c // block, ..., c % block]
    return physical[..., c] if case.params["layout"].endswith("c") else physical[:, c]


def clear_padding(case: Case, physical: np.ndarray) -> None:
    """Zeroes the channels past the last one, as every writer of a blocked layout does."""
    block = block_of(case.params["layout"])
    if block:
        for c in range(case.shape[1], physical.shape[1] * block):
            channel(case, physical, c)[...] = 0


def shuffle(case: Case, src: np.ndarray, dst: np.ndarray) -> None:
    """Writes all of `dst`: the channels in their new order, and zeroes as padding."""
    channels, group = case.shape[1], case.params["group"]
    order = np.arange(channels).reshape(group, channels // group).T.ravel()
    for to, of in enumerate(order):
        channel(case, dst, to)[...] = channel(case, src, int(of))
    clear_padding(case, dst)
