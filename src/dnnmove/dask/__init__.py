"""The eager functions over dask arrays: lazy, block by block, for arrays larger than memory and for clusters.

Each gives what the function of the same name in `dnnmove` gives for the whole array, whatever the chunks. Blocks are
moved by dnnmove, one thread to a task; dask rechunks only along an axis that must be whole. Wrong arguments raise when
the graph is built, with the errors of the eager functions. `import dnnmove` imports neither this module nor dask.

Examples
--------
>>> import dask.array as da
>>> from dnnmove import dask as dd
>>> x = da.arange(24, chunks=5).reshape(2, 12).rechunk((1, 5))
>>> y = dd.transpose(dd.shuffle_channels(x, axis=1, group=3))
>>> y.chunks
((12,), (1, 1))
>>> y[:4, 0].compute()
array([0, 4, 8, 1])
"""

try:
    import dask.array  # noqa: F401
except ImportError as error:
    raise ImportError("dnnmove.dask needs dask: pip install dnnmove[dask]") from error

from dnnmove.dask._arranging import (
    expand_dims,
    flatten,
    flip,
    moveaxis,
    rearrange,
    roll,
    squeeze,
    swapaxes,
    unflatten,
)
from dnnmove.dask._array_api import broadcast_to, permute_dims, unstack
from dnnmove.dask._chain import ChainOverBlocks, chain
from dnnmove.dask._elements import byteswap, convert
from dnnmove.dask._functions import (
    broadcast,
    concat,
    shuffle,
    shuffle_backward,
    shuffle_channels,
    split,
    stack,
    transpose,
    variadic_split,
)
from dnnmove.dask._pad import pad
from dnnmove.dask._regrouping import (
    depth_to_space,
    pixel_shuffle,
    pixel_unshuffle,
    repeat,
    repeat_elements,
    space_to_depth,
    take,
    tile,
    unfold,
)

__all__ = [
    "ChainOverBlocks",
    "broadcast",
    "broadcast_to",
    "byteswap",
    "chain",
    "concat",
    "convert",
    "depth_to_space",
    "expand_dims",
    "flatten",
    "flip",
    "moveaxis",
    "pad",
    "permute_dims",
    "pixel_shuffle",
    "pixel_unshuffle",
    "rearrange",
    "repeat",
    "repeat_elements",
    "roll",
    "shuffle",
    "shuffle_backward",
    "shuffle_channels",
    "space_to_depth",
    "split",
    "squeeze",
    "stack",
    "swapaxes",
    "take",
    "tile",
    "transpose",
    "unflatten",
    "unfold",
    "unstack",
    "variadic_split",
]
