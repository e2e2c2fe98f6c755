// The docstrings of the shuffle primitives.
#pragma once

namespace dnnmove::python {

inline constexpr const char* kForwardDoc = R"(ShuffleForward(pd)
--

Channel shuffle, forward (oneDNN: ``shuffle_forward``).

With C the length of the axis and G = `group_size`: ``dst[u + v*C/G] = src[u*G + v]``, u in [0, C/G), v in
[0, G). `group_size` is the size of one group; ``shuffle_channels`` counts groups instead.

Parameters
----------
pd : ShuffleForward.PrimitiveDesc or ShuffleForward.Desc
    The problem; from a Desc the PrimitiveDesc is made with its defaults.

Notes
-----
One primitive may be executed from many threads at once; the GIL is released while it runs.
Source: MKL-DNN 1.0.4 / oneDNN developer guide, "Shuffle".

Examples
--------
>>> import numpy as np, dnnmove as dm
>>> x = np.arange(6, dtype="f4").reshape(1, 6)
>>> desc = dm.ShuffleForward.Desc(dm.PropKind.forward_inference, dm.MemoryDesc.of(x), axis=1, group_size=3)
>>> fwd = dm.ShuffleForward(dm.ShuffleForward.PrimitiveDesc(desc))
>>> fwd(x).astype(int).tolist()
[[0, 3, 1, 4, 2, 5]]
)";

inline constexpr const char* kBackwardDoc = R"(ShuffleBackward(pd)
--

Channel shuffle, backward (oneDNN: ``shuffle_backward``): the inverse permutation.

Parameters
----------
pd : ShuffleBackward.PrimitiveDesc or ShuffleBackward.Desc
    The problem; from a Desc the PrimitiveDesc is made with its defaults.

Notes
-----
One primitive may be executed from many threads at once; the GIL is released while it runs.
Source: MKL-DNN 1.0.4 / oneDNN developer guide, "Shuffle".

Examples
--------
>>> import numpy as np, dnnmove as dm
>>> dy = np.arange(6, dtype="f4").reshape(1, 6)
>>> bwd = dm.ShuffleBackward(dm.ShuffleBackward.Desc(dm.MemoryDesc.of(dy), axis=1, group_size=3))
>>> bwd(dy).astype(int).tolist()
[[0, 2, 4, 1, 3, 5]]
)";

inline constexpr const char* kForwardDescDoc = R"(The problem, validated; no data is touched.

Parameters
----------
prop_kind : PropKind
    forward_training or forward_inference.
data_desc : MemoryDesc
    Dims, data type and layout of input and output; at most 12 dimensions.
axis : int
    In [-ndim, ndim).
group_size : int
    The size of one group (not the number of groups), in [1, C], dividing C = dims[axis].
tune : bool, default False
    Whether the first call measures variants of the native plan and keeps the fastest (see `dnnmove.tuning`).

Raises
------
TypeError
    An argument has the wrong type.
numpy.exceptions.AxisError
    The axis lies outside.
ValueError
    `group_size` does not divide C, C is 0, or strides let elements share bytes.

Examples
--------
>>> import dnnmove as dm
>>> md = dm.MemoryDesc((2, 6, 4, 4), "float32")
>>> desc = dm.ShuffleForward.Desc(dm.PropKind.forward_inference, md, axis=-3, group_size=3)
>>> desc
ShuffleForward.Desc(PropKind.forward_inference, MemoryDesc((2, 6, 4, 4), 'float32'), axis=1, group_size=3)
)";

inline constexpr const char* kBackwardDescDoc = R"(The problem, validated; no data is touched.

Parameters
----------
diff_data_desc : MemoryDesc
    Dims, data type and layout of input and output; at most 12 dimensions.
axis : int
    In [-ndim, ndim).
group_size : int
    The size of one group (not the number of groups), in [1, C], dividing C = dims[axis].
tune : bool, default False
    Whether the first call measures variants of the native plan and keeps the fastest (see `dnnmove.tuning`).

Raises
------
TypeError
    An argument has the wrong type.
numpy.exceptions.AxisError
    The axis lies outside.
ValueError
    `group_size` does not divide C, C is 0, or strides let elements share bytes.

Examples
--------
>>> import dnnmove as dm
>>> md = dm.MemoryDesc((2, 6, 4, 4), "float32")
>>> desc = dm.ShuffleBackward.Desc(md, axis=-3, group_size=3)
>>> desc
ShuffleBackward.Desc(MemoryDesc((2, 6, 4, 4), 'float32'), axis=1, group_size=3)
)";

inline constexpr const char* kForwardPdDoc = R"(A problem and the implementations that can run it.

Made from a Desc, as in oneDNN 1.x and 2.x: ``PrimitiveDesc(desc, engine=None, implementation='auto')``; or with
oneDNN 3.x' arguments: ``PrimitiveDesc(engine, prop_kind, src_desc, dst_desc, axis, group_size, *,
implementation='auto', tune=False)``.

Parameters
----------
desc : ShuffleForward.Desc
    The problem.
engine : Engine, optional
    The CPU engine by default.
implementation : str, default "auto"
    "auto" takes the first of `implementations`; "native", "onednn" or one of that list forces it. The
    environment variable DNNMOVE_IMPLEMENTATION replaces "auto".
prop_kind : PropKind
    forward_training or forward_inference.
src_desc, dst_desc : MemoryDesc
    Equal: a shuffle changes neither layout nor data type.
axis, group_size, tune
    As in ShuffleForward.Desc.

Raises
------
UnimplementedError
    "onednn" is forced and oneDNN has no implementation, or one that is known to be wrong.
ValueError
    The implementation is unknown, or `dst_desc` differs; what ShuffleForward.Desc raises.

Examples
--------
>>> import dnnmove as dm
>>> md = dm.MemoryDesc((2, 6, 4, 4), "float32")
>>> desc = dm.ShuffleForward.Desc(dm.PropKind.forward_inference, md, axis=1, group_size=3)
>>> pd = dm.ShuffleForward.PrimitiveDesc(desc, implementation="native")
>>> pd.impl_info_str.split(":")[0]
'native'
>>> pd = dm.ShuffleForward.PrimitiveDesc(dm.Engine(), dm.PropKind.forward_inference, md, md, 1, 3)
>>> pd.dst_desc
MemoryDesc((2, 6, 4, 4), 'float32')
)";

inline constexpr const char* kBackwardPdDoc = R"(A problem and the implementations that can run it.

Made from a Desc, as in oneDNN 1.x and 2.x: ``PrimitiveDesc(desc, engine=None, hint_fwd_pd=None,
implementation='auto')``; or with oneDNN 3.x' arguments: ``PrimitiveDesc(engine, diff_src_desc, diff_dst_desc, axis,
group_size, hint_fwd_pd=None, *, implementation='auto', tune=False)``.

Parameters
----------
desc : ShuffleBackward.Desc
    The problem.
engine : Engine, optional
    The CPU engine by default.
hint_fwd_pd : ShuffleForward.PrimitiveDesc, optional
    Must agree in dims, axis and group_size; oneDNN 3.x demands it, here it only is a check.
implementation : str, default "auto"
    "auto" takes the first of `implementations`; "native", "onednn" or one of that list forces it. The
    environment variable DNNMOVE_IMPLEMENTATION replaces "auto".
diff_src_desc, diff_dst_desc : MemoryDesc
    Equal: a shuffle changes neither layout nor data type.
axis, group_size, tune
    As in ShuffleBackward.Desc.

Raises
------
UnimplementedError
    "onednn" is forced and oneDNN has no implementation, or one that is known to be wrong.
ValueError
    The implementation is unknown, the hint disagrees, or `diff_dst_desc` differs; what ShuffleBackward.Desc raises.

Examples
--------
>>> import dnnmove as dm
>>> md = dm.MemoryDesc((2, 6, 4, 4), "float32")
>>> fwd = dm.ShuffleForward.PrimitiveDesc(dm.Engine(), dm.PropKind.forward_training, md, md, 1, 3)
>>> bwd = dm.ShuffleBackward.PrimitiveDesc(dm.Engine(), md, md, 1, 3, fwd)
>>> bwd.prop_kind.name
'backward_data'
)";

}  // namespace dnnmove::python
