// The docstrings of Chain.
#pragma once

namespace dnnmove::python {

inline constexpr const char* kChainDoc = R"doc(Several operations, one trip through memory.

A chain collects operations and runs none of them. Each of its methods takes the keywords of the
eager function of the same name, checks them against the shapes so far, and returns a new chain;
`build` composes the steps into as few copies as they allow, nearly always one. After a split,
further steps apply to every branch, or to one of them (`branch`), and the branches come out as one
flat tuple, depth first.

Parameters
----------
data_desc : MemoryDesc
    Shape, dtype and strides of the input, in a plain layout. For an array at hand see `Chain.of`.

Raises
------
TypeError
    `data_desc` is no MemoryDesc.
ValueError
    Its layout is blocked: reorder to a plain one first.

Notes
-----
An error of a step is the eager function's, led by the step's number and name:
"step 2 (variadic_split): ...".

A chain is explicit on purpose: nothing is deferred until somebody happens to look at a value, the
layout is fixed when the chain is made, and what runs when is in plain sight. For an array that is
there already, ``dnnmove.chain(x)`` spells the same thing lazily: steps are noted, ``run()`` runs them.

Examples
--------
The unit of ShuffleNet v2, its halves written channels-last in one pass:

>>> import numpy as np, dnnmove as dm
>>> x = np.arange(2 * 4 * 3 * 3, dtype="float32").reshape(2, 4, 3, 3)
>>> f = (dm.Chain(dm.MemoryDesc.of(x)).shuffle_channels(axis=1, group=2)
...        .variadic_split(axis=1, split_lengths=[2, 2]).transpose((0, 2, 3, 1)).build())
>>> a, b = f(x)
>>> a.shape, f.passes
((2, 3, 3, 2), 1)
>>> bool((a[..., 1] == x[:, 2]).all())
True

The last batch of an epoch may be shorter, where no step fixes axis 0:

>>> f(x[:1])[0].shape
(1, 3, 3, 2)
)doc";

inline constexpr const char* kChainOfDoc = R"doc(of(array)
--

A chain for arrays that lie as this one does.

Parameters
----------
array : array
    NumPy array, torch tensor or any CPU object with ``__dlpack__``, of any strides that are whole
    elements. Only its shape, dtype and strides are taken.

Returns
-------
Chain
    Without steps.

Raises
------
TypeError
    `array` is no array.
ValueError
    Its strides are no whole number of elements (a field of a struct, say), or its layout is blocked.

Examples
--------
>>> import numpy as np, dnnmove as dm
>>> dm.Chain.of(np.zeros((2, 3), "int8")).transpose().build()(np.arange(6, dtype="int8").reshape(2, 3)).tolist()
[[0, 3], [1, 4], [2, 5]]
)doc";

inline constexpr const char* kChainShuffleDoc = R"doc(shuffle(self, axis, group_size)
--

Add oneDNN's shuffle: `group_size` is the size of one group.

Parameters
----------
axis : int
    In [-ndim, ndim).
group_size : int
    Divides the axis.

Returns
-------
Chain

See Also
--------
dnnmove.shuffle
)doc";

inline constexpr const char* kChainShuffleChannelsDoc = R"doc(shuffle_channels(self, axis=1, group=1)
--

Add OpenVINO's ShuffleChannels: `group` is the number of groups.

Parameters
----------
axis : int, default 1
    In [-ndim, ndim).
group : int, default 1
    Divides the axis.

Returns
-------
Chain

See Also
--------
dnnmove.shuffle_channels
)doc";

inline constexpr const char* kChainTransposeDoc = R"doc(transpose(self, input_order=())
--

Add a transpose.

Parameters
----------
input_order : sequence of int, default ()
    A permutation of the axes, negative entries count from the end; empty reverses them.

Returns
-------
Chain

See Also
--------
dnnmove.transpose
)doc";

inline constexpr const char* kChainVariadicSplitDoc = R"doc(variadic_split(self, axis, split_lengths)
--

Add a split into parts of given lengths.

Parameters
----------
axis : int
    In [-ndim, ndim).
split_lengths : sequence of int
    At least 0 each; one may be -1, which takes what is left.

Returns
-------
Chain
    Its further steps apply to every part.

See Also
--------
dnnmove.variadic_split
)doc";

inline constexpr const char* kChainSplitDoc = R"doc(split(self, axis, num_splits)
--

Add a split into equal parts.

Parameters
----------
axis : int
    In [-ndim, ndim).
num_splits : int
    Divides the axis.

Returns
-------
Chain
    Its further steps apply to every part.

See Also
--------
dnnmove.split
)doc";

inline constexpr const char* kChainBroadcastDoc = R"doc(broadcast(self, target_shape, axes_mapping=None, mode='numpy')
--

Add a broadcast.

Parameters
----------
target_shape : sequence of int
    Lengths of at least 0.
axes_mapping : sequence of int, optional
    For ``mode="explicit"``: the axis of the target that each axis becomes.
mode : {"numpy", "explicit", "bidirectional"}, default "numpy"
    How the shapes are matched.

Returns
-------
Chain

See Also
--------
dnnmove.broadcast
)doc";

inline constexpr const char* kChainReshapeDoc = R"doc(reshape(self, shape)
--

Add a change of shape that keeps the row-major order of the elements.

Parameters
----------
shape : sequence of int
    As many elements as before; one length may be -1, which takes what is left.

Returns
-------
Chain

Examples
--------
DepthToSpace with blocks of 2 (DCR mode):

>>> import numpy as np, dnnmove as dm
>>> f = (dm.Chain(dm.MemoryDesc((1, 8, 5, 7), "float32")).reshape((1, 2, 2, 2, 5, 7))
...        .transpose((0, 3, 4, 1, 5, 2)).reshape((1, 2, 10, 14)).build())
>>> f.passes, f.dst_desc.dims
(1, (1, 2, 10, 14))
)doc";

inline constexpr const char* kChainIndexDoc = R"doc(index(self, key)
--

Add basic indexing: crops, strides, flips, dropped and new axes.

Parameters
----------
key : int, slice, None, Ellipsis or tuple of them
    What stands between the brackets in NumPy; ``np.s_[...]`` writes it down.

Returns
-------
Chain

Examples
--------
BGR to RGB:

>>> import numpy as np, dnnmove as dm
>>> pixel = np.array([[10, 20, 30]], dtype="uint8")
>>> dm.Chain.of(pixel).index(np.s_[:, ::-1]).build()(pixel).tolist()
[[30, 20, 10]]
)doc";

inline constexpr const char* kChainBranchDoc = R"doc(branch(self, i)
--

Turn to one output: the steps that follow apply to it alone, the other outputs pass by them.

Parameters
----------
i : int or None
    Which of the outputs of the steps so far, counted flat and from the end where negative. None
    turns to all of them again. A later ``branch(j)`` counts all outputs anew; a split inside a
    branch passes the turn on to all its parts.

Returns
-------
Chain
    What it writes does not change: all outputs come out of the same passes.

Raises
------
IndexError
    There is no such output.

Examples
--------
The queries of attention stay as they are, keys and values are repeated for the heads that share them:

>>> import numpy as np, dnnmove as dm
>>> x = np.arange(2 * 8).reshape(2, 8)
>>> f = (dm.Chain.of(x).variadic_split(1, [4, 2, 2])
...        .branch(1).broadcast((2, 2, 2)).branch(2).broadcast((2, 2, 2)).branch(None).build())
>>> [y.shape for y in f(x)], f.passes
([(2, 4), (2, 2, 2), (2, 2, 2)], 1)
)doc";

inline constexpr const char* kChainBuildDoc = R"doc(build(self, *, max_nests=64, tune=False)
--

Compose the steps.

Parameters
----------
max_nests : int, default 64
    How many strided copies one output may take (at most 256). Where the steps need more, for
    instance a reshape across axes that were transposed and have no common factors, an intermediate
    array is written and read again, where that is the fewest bytes, and ``passes`` says so.
tune : bool, default False
    Whether the first call measures variants of every pass and keeps the fastest (see `dnnmove.tuning`).

Returns
-------
BuiltChain
    Call it with an array.
)doc";

}  // namespace dnnmove::python
