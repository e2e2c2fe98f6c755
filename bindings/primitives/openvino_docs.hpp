// The docstrings of the OpenVINO operations as primitives.
#pragma once

namespace dnnmove {

inline constexpr const char* kShuffleChannelsClassDoc = R"doc(ShuffleChannels(desc)
--

Channel shuffle in OpenVINO's meaning, planned once: `group` is the number of groups.

Parameters
----------
desc : ShuffleChannels.Desc
    The problem.

Notes
-----
Called as ``prim(x)`` or ``prim(x, out=y)``; `x` lies exactly as ``desc.src_desc`` says. One primitive
may be called from many threads at once. OpenVINO ShuffleChannels-1.

Examples
--------
>>> import numpy as np
>>> import dnnmove as dm
>>> x = np.arange(6, dtype="int32").reshape(1, 6)
>>> prim = dm.ShuffleChannels(dm.ShuffleChannels.Desc(dm.MemoryDesc.of(x), axis=1, group=3))
>>> prim(x).tolist()
[[0, 2, 4, 1, 3, 5]]
)doc";

inline constexpr const char* kShuffleChannelsDescDoc = R"doc(The problem, validated; no data is touched.

Parameters
----------
data_desc : MemoryDesc
    Dims, dtype and plain layout of the input; the output keeps its memory order where it is dense.
axis : int, default 1
    The channel axis, in [-ndim, ndim).
group : int, default 1
    The number of groups (not the size of one), which divides ``data_desc.dims[axis]``.
tune : bool, default False
    Whether the first call measures variants of the plan and keeps the fastest (see `dnnmove.tuning`).

Raises
------
TypeError
    An argument has the wrong type.
ValueError
    `group` does not divide the axis, or the layout is blocked.
numpy.exceptions.AxisError
    `axis` lies outside [-ndim, ndim).
)doc";

inline constexpr const char* kTransposeClassDoc = R"doc(Transpose(desc)
--

Permutation of axes, planned once.

Parameters
----------
desc : Transpose.Desc
    The problem.

Notes
-----
Called as ``prim(x)`` or ``prim(x, out=y)``; `x` lies exactly as ``desc.src_desc`` says. One primitive
may be called from many threads at once. OpenVINO Transpose-1.

Examples
--------
>>> import numpy as np
>>> import dnnmove as dm
>>> x = np.arange(6, dtype="int32").reshape(2, 3)
>>> prim = dm.Transpose(dm.Transpose.Desc(dm.MemoryDesc.of(x), (1, 0)))
>>> prim(x).tolist()
[[0, 3], [1, 4], [2, 5]]
)doc";

inline constexpr const char* kTransposeDescDoc = R"doc(The problem, validated; no data is touched.

Parameters
----------
data_desc : MemoryDesc
    Dims, dtype and plain layout of the input.
input_order : sequence of int or 1-D integer array, default ()
    Every axis once, negative entries count from the end; empty reverses the axes.
tune : bool, default False
    Whether the first call measures variants of the plan and keeps the fastest (see `dnnmove.tuning`).

Raises
------
TypeError
    An argument has the wrong type.
ValueError
    `input_order` is no permutation of the axes, or the layout is blocked.
)doc";

inline constexpr const char* kVariadicSplitClassDoc = R"doc(VariadicSplit(desc)
--

Split along one axis into parts of given lengths, planned once.

Parameters
----------
desc : VariadicSplit.Desc
    The problem.

Notes
-----
Called as ``prim(x)`` or ``prim(x, out=(a, b))``, returns a tuple; in ``execute`` output i is
``ARG_MULTIPLE_DST + i``. One primitive may be called from many threads at once. OpenVINO
VariadicSplit-1.

Examples
--------
>>> import numpy as np
>>> import dnnmove as dm
>>> x = np.arange(6, dtype="int32")
>>> prim = dm.VariadicSplit(dm.VariadicSplit.Desc(dm.MemoryDesc.of(x), 0, [2, -1]))
>>> [part.tolist() for part in prim(x)]
[[0, 1], [2, 3, 4, 5]]
)doc";

inline constexpr const char* kVariadicSplitDescDoc = R"doc(The problem, validated; no data is touched.

Parameters
----------
data_desc : MemoryDesc
    Dims, dtype and plain layout of the input.
axis : int or integer array of shape () or (1,)
    The axis to split, in [-ndim, ndim).
split_lengths : sequence of int or 1-D integer array
    Length of each part in elements, which sum to ``data_desc.dims[axis]``; at most one -1.
tune : bool, default False
    Whether the first call measures variants of the plan and keeps the fastest (see `dnnmove.tuning`).

Raises
------
TypeError
    An argument has the wrong type.
ValueError
    The lengths do not sum to the axis, or the layout is blocked.
numpy.exceptions.AxisError
    `axis` lies outside [-ndim, ndim).
)doc";

inline constexpr const char* kBroadcastClassDoc = R"doc(Broadcast(desc)
--

Repetition along axes up to a target shape, planned once.

Parameters
----------
desc : Broadcast.Desc
    The problem.

Notes
-----
Called as ``prim(x)`` or ``prim(x, out=y)``; `x` lies exactly as ``desc.src_desc`` says. One primitive
may be called from many threads at once. OpenVINO Broadcast-1, and Broadcast-3's bidirectional mode.

Examples
--------
>>> import numpy as np
>>> import dnnmove as dm
>>> x = np.array([1, 2], dtype="int32")
>>> prim = dm.Broadcast(dm.Broadcast.Desc(dm.MemoryDesc.of(x), (3, 2)))
>>> prim(x).tolist()
[[1, 2], [1, 2], [1, 2]]
)doc";

inline constexpr const char* kBroadcastDescDoc = R"doc(The problem, validated; no data is touched.

Parameters
----------
data_desc : MemoryDesc
    Dims, dtype and plain layout of the input.
target_shape : sequence of int or 1-D integer array
    The shape to reach, in elements.
axes_mapping : sequence of int or 1-D integer array, optional
    With ``mode='explicit'`` only: the target's axis of each axis of the data, strictly increasing.
mode : {'numpy', 'explicit', 'bidirectional'}, default 'numpy'
    How the axes are laid onto the target's.
tune : bool, default False
    Whether the first call measures variants of the plan and keeps the fastest (see `dnnmove.tuning`).

Raises
------
TypeError
    An argument has the wrong type.
ValueError
    The shapes do not fit, the mapping is wrong, or the layout is blocked.
)doc";

}  // namespace dnnmove
