// The docstrings of the eager functions; the first line is the signature that inspect reads.
#pragma once

namespace dnnmove {

inline constexpr const char* kShuffleDoc = R"doc(shuffle($module, data, axis, group_size, *, out=None)
--

Shuffle one axis in oneDNN's meaning: groups of `group_size` elements each.

The axis, of length C, is seen as C/group_size groups of `group_size` elements and
transposed: ``result[u + v*C/group_size] = data[u*group_size + v]``.

Parameters
----------
data : array
    NumPy array of any strides, torch tensor, Memory, or any CPU object with
    ``__dlpack__``; any dtype of fixed size.
axis : int
    The axis to shuffle, in [-ndim, ndim).
group_size : int
    The size of one group (not the number of groups: see `shuffle_channels`), at
    least 1; divides ``data.shape[axis]``.
out : array, optional
    Receives the result: same shape and dtype, writeable, no shared bytes with `data`.

Returns
-------
array
    `out`, or new memory of the kind of `data`, in the memory order of a dense `data`,
    else C-contiguous. Same shape as `data`. An object that is neither NumPy's, torch's nor
    a Memory gives its library's array (jax) where it has ``__array_namespace__``, else NumPy's.

Raises
------
TypeError
    An argument has the wrong type, or the dtype refers to Python objects.
ValueError
    `group_size` does not divide the axis, or `out` does not fit.
numpy.exceptions.AxisError
    `axis` lies outside [-ndim, ndim).

Notes
-----
MKL-DNN 1.0.4 (oneDNN), Shuffle, forward propagation.

Examples
--------
>>> import numpy as np
>>> import dnnmove as dm
>>> dm.shuffle(np.arange(6), axis=0, group_size=3)
array([0, 3, 1, 4, 2, 5])
)doc";

inline constexpr const char* kShuffleBackwardDoc = R"doc(shuffle_backward($module, diff_dst, axis, group_size, *, out=None)
--

Undo `shuffle` with the same `axis` and `group_size`: the backward of oneDNN's Shuffle.

``result[u*group_size + v] = diff_dst[u + v*C/group_size]`` for an axis of length C.

Parameters
----------
diff_dst : array
    Gradient of the shuffled data: any kind of array, any dtype of fixed size.
axis : int
    The shuffled axis, in [-ndim, ndim).
group_size : int
    The forward's size of one group (not the number of groups); divides
    ``diff_dst.shape[axis]``.
out : array, optional
    Receives the result: same shape and dtype, writeable, no shared bytes with `diff_dst`.

Returns
-------
array
    `out`, or new memory of the kind of `diff_dst`, in the memory order of a dense
    `diff_dst`, else C-contiguous. Same shape as `diff_dst`.

Raises
------
TypeError
    An argument has the wrong type, or the dtype refers to Python objects.
ValueError
    `group_size` does not divide the axis, or `out` does not fit.
numpy.exceptions.AxisError
    `axis` lies outside [-ndim, ndim).

Notes
-----
MKL-DNN 1.0.4 (oneDNN), Shuffle, backward propagation.

Examples
--------
>>> import numpy as np
>>> import dnnmove as dm
>>> dm.shuffle_backward(np.array([0, 3, 1, 4, 2, 5]), axis=0, group_size=3)
array([0, 1, 2, 3, 4, 5])
)doc";

inline constexpr const char* kShuffleChannelsDoc = R"doc(shuffle_channels($module, data, axis=1, group=1, *, out=None)
--

Shuffle channels in OpenVINO's meaning: `group` is the number of groups.

The axis, of length C, is seen as `group` groups of C/group elements and transposed:
``result[k*group + j] = data[j*(C/group) + k]``. The same as
``shuffle(data, axis, group_size=C//group)`` and as ``torch.channel_shuffle``.

Parameters
----------
data : array
    NumPy array of any strides, torch tensor, Memory, or any CPU object with
    ``__dlpack__``; rank at least 1, any dtype of fixed size.
axis : int, default 1
    The channel axis, in [-ndim, ndim).
group : int, default 1
    The number of groups (not the size of one: see `shuffle`), at least 1; divides
    ``data.shape[axis]``.
out : array, optional
    Receives the result: same shape and dtype, writeable, no shared bytes with `data`.

Returns
-------
array
    `out`, or new memory of the kind of `data`, in the memory order of a dense `data`
    (channels_last stays channels_last), else C-contiguous. Same shape as `data`.

Raises
------
TypeError
    An argument has the wrong type, or the dtype refers to Python objects.
ValueError
    `group` does not divide the axis, or `out` does not fit.
numpy.exceptions.AxisError
    `axis` lies outside [-ndim, ndim).

Notes
-----
OpenVINO ShuffleChannels-1.

Examples
--------
>>> import numpy as np
>>> import dnnmove as dm
>>> dm.shuffle_channels(np.arange(6).reshape(1, 6), axis=1, group=3)
array([[0, 2, 4, 1, 3, 5]])
)doc";

inline constexpr const char* kTransposeDoc = R"doc(transpose($module, data, input_order=(), *, out=None)
--

Permute the axes of an array into new C-contiguous memory.

Parameters
----------
data : array
    NumPy array of any strides, torch tensor, Memory, or any CPU object with
    ``__dlpack__``; any dtype of fixed size.
input_order : sequence of int or 1-D integer array, default ()
    Axis i of the result is axis ``input_order[i]`` of `data`: every axis once, negative
    entries count from the end. Empty reverses the axes.
out : array, optional
    Receives the result: same dtype, the result's shape, writeable, no shared bytes
    with `data`.

Returns
-------
array
    `out`, or new C-contiguous memory of the kind of `data`, never a view.

Raises
------
TypeError
    An argument has the wrong type (a float or bool order too).
ValueError
    `input_order` is no permutation of the axes, or `out` does not fit.

Notes
-----
OpenVINO Transpose-1.

Examples
--------
>>> import numpy as np
>>> import dnnmove as dm
>>> dm.transpose(np.zeros((2, 3, 4)), (2, 0, 1)).shape
(4, 2, 3)
>>> dm.transpose(np.zeros((2, 3, 4)), (0, -1, -2)).shape
(2, 4, 3)
>>> dm.transpose(np.array([[1, 2], [3, 4]]))
array([[1, 3],
       [2, 4]])
)doc";

inline constexpr const char* kVariadicSplitDoc = R"doc(variadic_split($module, data, axis, split_lengths, *, out=None)
--

Split an array along one axis into parts of the given lengths.

Parameters
----------
data : array
    NumPy array of any strides, torch tensor, Memory, or any CPU object with
    ``__dlpack__``; rank at least 1, any dtype of fixed size.
axis : int or integer array of shape () or (1,)
    The axis to split, in [-ndim, ndim).
split_lengths : sequence of int or 1-D integer array
    Length of each part in elements, which sum to ``data.shape[axis]``. At most one
    may be -1: it takes what is left. Zero is allowed.
out : sequence of arrays, optional
    One per part: same shape and dtype, writeable, no shared bytes with `data` or
    with one another.

Returns
-------
tuple of arrays
    The arrays of `out`, or new C-contiguous memory of the kind of `data`.

Raises
------
TypeError
    An argument has the wrong type (float or bool lengths too).
ValueError
    The lengths do not sum to the axis, or `out` does not fit.
numpy.exceptions.AxisError
    `axis` lies outside [-ndim, ndim).

Notes
-----
OpenVINO VariadicSplit-1.

Examples
--------
>>> import numpy as np
>>> import dnnmove as dm
>>> dm.variadic_split(np.arange(6), 0, [1, -1, 2])
(array([0]), array([1, 2, 3]), array([4, 5]))
)doc";

inline constexpr const char* kSplitDoc = R"doc(split($module, data, axis, num_splits, *, out=None)
--

Split an array along one axis into `num_splits` equal parts.

The axis comes before the number of parts, as in OpenVINO: NumPy's ``split(a, parts, axis)`` has them the other
way round, and both are integers. Name them: ``split(data, axis=1, num_splits=2)``.

Parameters
----------
data : array
    NumPy array of any strides, torch tensor, Memory, or any CPU object with
    ``__dlpack__``; rank at least 1, any dtype of fixed size.
axis : int or integer array of shape () or (1,)
    The axis to split, in [-ndim, ndim).
num_splits : int
    The number of parts (not their length), at least 1; divides ``data.shape[axis]``.
out : sequence of arrays, optional
    One per part: same shape and dtype, writeable, no shared bytes with `data` or
    with one another.

Returns
-------
tuple of arrays
    The arrays of `out`, or new C-contiguous memory of the kind of `data`.

Raises
------
TypeError
    An argument has the wrong type.
ValueError
    `num_splits` does not divide the axis, or `out` does not fit.
numpy.exceptions.AxisError
    `axis` lies outside [-ndim, ndim).

Notes
-----
OpenVINO Split-1.

Examples
--------
>>> import numpy as np
>>> import dnnmove as dm
>>> dm.split(np.arange(6), axis=0, num_splits=3)
(array([0, 1]), array([2, 3]), array([4, 5]))
)doc";

inline constexpr const char* kBroadcastDoc =
    R"doc(broadcast($module, data, target_shape, axes_mapping=None, mode='numpy', *, out=None)
--

Repeat an array along new or length-1 axes until it has the target shape.

Parameters
----------
data : array
    NumPy array of any strides, torch tensor, Memory, or any CPU object with
    ``__dlpack__``; any dtype of fixed size.
target_shape : sequence of int or 1-D integer array
    The shape to reach, in elements, each at least 0.
axes_mapping : sequence of int or 1-D integer array, optional
    With ``mode='explicit'`` only, and required there: axis i of `data` becomes axis
    ``axes_mapping[i]`` of the result; strictly increasing.
mode : {'numpy', 'explicit', 'bidirectional'}, default 'numpy'
    'numpy' aligns the shapes at the right, one-directionally; 'explicit' follows
    `axes_mapping`; 'bidirectional' lets the target's ones be repeated too, so the
    result may exceed it. In any case of letters.
out : array, optional
    Receives the result: same dtype, the result's shape, writeable, no shared bytes
    with `data`.

Returns
-------
array
    `out`, or new C-contiguous memory of the kind of `data`, never a view.

Raises
------
TypeError
    An argument has the wrong type.
ValueError
    The shapes do not fit, `mode` is unknown, `axes_mapping` is missing, wrong or not
    asked for, or `out` does not fit.

Notes
-----
OpenVINO Broadcast-1, and Broadcast-3 for the bidirectional mode.

Examples
--------
>>> import numpy as np
>>> import dnnmove as dm
>>> dm.broadcast(np.array([1, 2]), (2, 3), axes_mapping=[0], mode="explicit")
array([[1, 1, 1],
       [2, 2, 2]])
)doc";

inline constexpr const char* kConcatDoc = R"doc(concat($module, arrays, axis=0, *, out=None)
--

Join arrays along one axis: the inverse, and the backward, of `variadic_split`.

Parameters
----------
arrays : list or tuple of arrays
    At least one; of one dtype, and of one shape except along `axis`.
axis : int, default 0
    The axis to join along, in [-ndim, ndim).
out : array, optional
    Receives the result: same dtype, the result's shape, writeable, no shared bytes
    with any of `arrays`.

Returns
-------
array
    `out`, or new C-contiguous memory of the kind of ``arrays[0]``.

Raises
------
TypeError
    An argument has the wrong type, or the dtypes differ.
ValueError
    The shapes do not fit, there is no array, or `out` does not fit.
numpy.exceptions.AxisError
    `axis` lies outside [-ndim, ndim).

Examples
--------
>>> import numpy as np
>>> import dnnmove as dm
>>> dm.concat((np.array([1]), np.array([2, 3])))
array([1, 2, 3])
)doc";

inline constexpr const char* kStackDoc = R"doc(stack($module, arrays, axis=0, *, out=None)
--

Join arrays along a new axis.

Parameters
----------
arrays : list or tuple of arrays
    At least one; of one dtype and one shape, each of a layout of its own.
axis : int, default 0
    Where the new axis is in the result, in [-ndim - 1, ndim + 1).
out : array, optional
    Receives the result: same dtype, the result's shape, writeable, no shared bytes
    with any of `arrays`.

Returns
-------
array
    `out`, or new C-contiguous memory of the kind of ``arrays[0]``.

Raises
------
TypeError
    An argument has the wrong type, or the dtypes differ.
ValueError
    The shapes differ, there is no array, or `out` does not fit.
numpy.exceptions.AxisError
    `axis` lies outside the result.

See Also
--------
dnnmove.Chain.stack : The same with further steps, such as a transpose of every image, in the same pass.

Examples
--------
>>> import numpy as np
>>> import dnnmove as dm
>>> dm.stack((np.array([1, 2]), np.array([3, 4])), axis=1)
array([[1, 3],
       [2, 4]])
)doc";

}  // namespace dnnmove
