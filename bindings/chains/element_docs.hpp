// The docstrings of convert and byteswap, as methods of Chain and as functions.
#pragma once

namespace dnnmove::python {

inline constexpr const char* kChainConvertDoc = R"doc(convert($self, dtype, scale=None, shift=None, axis=None)
--

Add the last step: convert the numbers on their way out, ``y = x * scale + shift``.

What was moved is converted before it is stored, so that the chain still crosses memory once. It
applies to every branch.

Parameters
----------
dtype : dtype
    Of the results: uint8, int8, int32, float32, bfloat16 or float16, each from each.
scale : float or sequence of float, optional
    Factor of every number; several lie along `axis`. Rounded to float32 first.
shift : float or sequence of float, optional
    Added then, likewise.
axis : int, optional
    The axis of the result of the steps before along which several scales or shifts lie, one for
    each position; in [-ndim, ndim).

Returns
-------
Chain

Raises
------
TypeError
    `dtype`, or what the steps before give, is not one of the six in native byte order; a factor is
    no number.
ValueError
    Several factors without `axis`, or not as many as it is long. (A step after this one raises it, too.)

See Also
--------
dnnmove.convert : The same as a function, which says how numbers are rounded.
)doc";

inline constexpr const char* kChainByteswapDoc = R"doc(byteswap($self)
--

Add a step: give the elements the other byte order and let their values be.

What was moved is swapped before it is stored, so that the chain still crosses memory once. Wherever
the step stands, a later `convert` finds native numbers if the swapped ones are.

Returns
-------
Chain

Raises
------
TypeError
    The dtype's fields share bytes.

See Also
--------
dnnmove.byteswap : The same as a function.
)doc";

inline constexpr const char* kConvertDoc = R"doc(convert($module, data, dtype, scale=None, shift=None, axis=None, *, out=None)
--

Convert numbers to another type, scaled and shifted: ``y = data * scale + shift``.

Parameters
----------
data : array
    NumPy array of any strides, torch tensor, Memory, or any CPU object with ``__dlpack__``, of
    uint8, int8, int32, float32, bfloat16 or float16 in native byte order.
dtype : dtype
    Of the result, one of the same six.
scale : float or sequence of float, optional
    Factor of every number; several lie along `axis`. Rounded to float32 first.
shift : float or sequence of float, optional
    Added then, likewise.
axis : int, optional
    The axis of `data` along which several scales or shifts lie, one for each position; in
    [-ndim, ndim).
out : array, optional
    Receives the result: of `data`'s shape and of `dtype`, writeable, no shared bytes with `data`.

Returns
-------
array
    `out`, or new C-contiguous memory of the kind of `data`.

Raises
------
TypeError
    A dtype is not one of the six in native byte order; a factor is no number.
ValueError
    Several factors without `axis`, or not as many as it is long; `out` does not fit.

Notes
-----
With a scale or a shift each number becomes a float32 (an int32 the nearest one), is multiplied,
then added to, each rounded once (no fused multiply-add), and then rounded to `dtype`. Without
either it goes straight to `dtype`, by one rounding. All roundings are to the nearest, ties to even.
Integers saturate, and what is not a number becomes 0 in them; which NaN comes out elsewhere is
open. Denormal numbers are kept. The bits are the same on every instruction set and for any number
of threads.

See Also
--------
dnnmove.Chain.convert : The same as the last step of a chain, in one trip through memory with it.

Examples
--------
>>> import numpy as np
>>> import dnnmove as dm
>>> photo = np.array([[[0, 51, 255]]], "uint8")
>>> dm.convert(photo, "float32", scale=[1.0, 2.0, 1.0], shift=-1, axis=-1)
array([[[ -1., 101., 254.]]], dtype=float32)
>>> dm.convert(np.array([-0.5, 1.5, 300, np.nan], "f4"), "uint8")
array([  0,   2, 255,   0], dtype=uint8)
)doc";

inline constexpr const char* kByteswapDoc = R"doc(byteswap($module, data, *, out=None)
--

Give elements the other byte order and let their values be.

NumPy's ``data.astype(data.dtype.newbyteorder())``: every field of a structured dtype, both halves of
a complex number and every letter of a unicode string are swapped; dtypes without a byte order are
copied as they are.

Parameters
----------
data : array
    NumPy array of any strides, Memory, or, where the dtype has no byte order, any CPU object with
    ``__dlpack__``.
out : array, optional
    Receives the result: of `data`'s shape and of the dtype with the other byte order, writeable, no
    shared bytes with `data`.

Returns
-------
array
    `out`, or new C-contiguous memory of the kind of `data`.

Raises
------
TypeError
    The dtype's fields share bytes, or the library of `data` has no dtype of the other byte order.
ValueError
    `out` does not fit.

See Also
--------
dnnmove.Chain.byteswap : The same as a step among others.

Examples
--------
>>> import numpy as np
>>> import dnnmove as dm
>>> stored = np.array([1, 256], ">i2")
>>> dm.byteswap(stored)
array([  1, 256], dtype=int16)
)doc";

}  // namespace dnnmove::python
