// The docstrings of pad, as a method of Chain and as a function.
#pragma once

namespace dnnmove::python {

inline constexpr const char* kChainPadDoc = R"doc(pad($self, pad_width, mode='constant', constant_value=0)
--

Add a step: put more elements around the data.

Parameters
----------
pad_width : int, pair of int, sequence of pairs, or dict
    How many elements before and after: one width for all, (before, after) for all axes, one pair
    for each axis, or a width or a pair by axis.
mode : {"constant", "edge", "reflect", "wrap"}, default "constant"
    What the new elements are.
constant_value : scalar, default 0
    For mode "constant": a value that the dtype holds exactly; 0 is zero bytes whatever the dtype.

Returns
-------
Chain

Raises
------
TypeError
    A width is no integer, or `constant_value` is no element of the dtype.
numpy.exceptions.AxisError
    A dict names an axis that the data has not.
ValueError
    `pad_width` does not fit, the dtype does not hold the constant, or an empty axis is padded in
    another mode.

See Also
--------
dnnmove.pad : The same as a function.
)doc";

inline constexpr const char* kPadDoc = R"doc(pad($module, data, pad_width, mode='constant', constant_value=0, *, out=None)
--

Put more elements around the data.

Parameters
----------
data : array
    NumPy array of any strides, torch tensor, Memory, or any CPU object with
    ``__dlpack__``; any dtype of fixed size.
pad_width : int, pair of int, sequence of pairs, or dict
    How many elements before and after: one width for all, (before, after) for all axes, one pair
    for each axis, or a width or a pair by axis, as in ``{-1: (2, 3)}``, and none elsewhere. At least 0.
mode : {"constant", "edge", "reflect", "wrap"}, default "constant"
    What the new elements are: all one value, the first and the last element, the mirror image without
    these, or the elements from the other end.
constant_value : scalar, default 0
    For mode "constant": a value that the dtype holds exactly; 0 is zero bytes whatever the dtype.
out : array, optional
    Receives the result: its shape and dtype, writeable, no shared bytes with `data`.

Returns
-------
array
    `out`, or new C-contiguous memory of the kind of `data`.

Raises
------
TypeError
    An argument has the wrong type, or the dtype refers to Python objects.
numpy.exceptions.AxisError
    A dict names an axis that the data has not.
ValueError
    `pad_width` does not fit the data, the dtype does not hold `constant_value` exactly, an empty axis
    is padded in another mode than "constant", or `out` does not fit.

Notes
-----
As ``numpy.pad``: "reflect" and "wrap" go on beyond the length of an axis.

See Also
--------
dnnmove.Chain.pad : The same as a step among others.

Examples
--------
>>> import numpy as np
>>> import dnnmove as dm
>>> dm.pad(np.array([1, 2, 3]), (2, 1), constant_value=9)
array([9, 9, 1, 2, 3, 9])
>>> dm.pad(np.array([[1, 2], [3, 4]]), ((0, 0), (1, 1)), "edge")
array([[1, 1, 2, 2],
       [3, 3, 4, 4]])
)doc";

}  // namespace dnnmove::python
