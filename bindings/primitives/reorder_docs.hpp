// The docstrings of Reorder.
#pragma once

namespace dnnmove::python {

inline constexpr const char* kReorderDoc = R"doc(Reorder(pd)
--

The reorder primitive: copies a tensor to another layout, data type, or both (oneDNN: ``reorder``).

Parameters
----------
pd : Reorder.PrimitiveDesc or Reorder.Desc
    What to run.

Raises
------
TypeError
    `pd` is neither.

Notes
-----
Called with an array or Memory that lies as ``src_desc`` says, it returns ``dst_desc``: a Memory where
that is blocked or the input is one, else an array of the input's kind. Source: oneDNN developer
guide, "Reorder".

Examples
--------
>>> import numpy as np, dnnmove as dm
>>> x = np.arange(16, dtype="f4").reshape(1, 4, 2, 2)
>>> to = dm.MemoryDesc(x.shape, "int8", "nhwc")
>>> reorder = dm.Reorder(dm.Reorder.Desc(dm.MemoryDesc.of(x), to, scales=[1, 2, 3, 4]))
>>> reorder(x)[0, :, 0, 0]
array([ 0,  8, 24, 48], dtype=int8)
)doc";

inline constexpr const char* kReorderDescDoc = R"doc(Desc(src_desc, dst_desc, scales=None, axis=1)
--

What a reorder does: ``dst = src * scales``, in other places and as other numbers.

Parameters
----------
src_desc, dst_desc : MemoryDesc
    Of the same dims. Of one dtype, or each of uint8, int8, int32, float32, bfloat16 and float16.
scales : float or sequence of float, optional
    The factor of all numbers, or one for each position along `axis`: what oneDNN calls the scales of
    the source, with mask 0 or ``1 << axis``. Rounded to float32.
axis : int, default 1
    The channels; in [-ndim, ndim). It matters to several scales only.

Raises
------
TypeError
    The dtypes differ, or there are scales, and one is not of the six; `scales` is no number.
ValueError
    The dims differ, there are not as many scales as `axis` is long, elements of `dst_desc` share
    bytes, or there are more than 12 dimensions.

Notes
-----
Numbers are rounded as `dnnmove.convert` says. Without scales and with one dtype every bit stays as
it is. oneDNN's own implementation gives the same numbers but for these, which differ from version
to version and from one instruction set to another: which NaN comes out, what an integer becomes of
a NaN, int32 beyond its range (2147483520 instead of 2147483647), and denormal bfloat16, which some
processors' own instruction takes for 0.
)doc";

inline constexpr const char* kReorderPdDoc = R"doc(PrimitiveDesc(desc, engine=None, implementation='auto')
--

The implementations that can run a reorder, one of them current.

Parameters
----------
desc : Reorder.Desc
    The problem.
engine : Engine, optional
    The CPU's where absent.
implementation : str, default "auto"
    "auto" (the best), "native", "onednn", or one of ``implementations``.

Raises
------
UnimplementedError
    "onednn" is asked for, and oneDNN has no such reorder.
ValueError
    There is no such implementation.

Examples
--------
>>> import dnnmove as dm
>>> src = dm.MemoryDesc((2, 16, 4, 4), "float32", "nchw")
>>> desc = dm.Reorder.Desc(src, dm.MemoryDesc((2, 16, 4, 4), "int8", "nChw16c"), scales=0.5)
>>> pd = dm.Reorder.PrimitiveDesc(desc, implementation="native")
>>> pd.impl_info_str.startswith("native:")
True
)doc";

inline constexpr const char* kReorderNextDoc = R"doc(next_impl(self)
--

Move to the next implementation.

Returns
-------
bool
    False past the last, where nothing changes.
)doc";

}  // namespace dnnmove::python
