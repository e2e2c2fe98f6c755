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
data_desc : MemoryDesc, or list or tuple of MemoryDesc
    Shape, dtype and strides of the input, in a plain layout. For an array at hand see `Chain.of`. A
    list makes a chain of several sources, of one dtype, each of a layout of its own; it begins with
    `stack` or `concat`, and what `build` gives is called with a list of as many arrays.

Raises
------
TypeError
    `data_desc` is no MemoryDesc, or several have different dtypes.
ValueError
    Its layout is blocked: reorder to a plain one first. Or the list is empty.

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

A batch of images of its own each, channels first, in one pass:

>>> images = [np.full((4, 5, 3), i, dtype="uint8") for i in range(8)]
>>> f = dm.Chain([dm.MemoryDesc.of(image) for image in images]).stack().transpose((0, 3, 1, 2)).build()
>>> f(images).shape, f.passes
((8, 3, 4, 5), 1)
)doc";

inline constexpr const char* kChainOfDoc = R"doc(of(array)
--

A chain for arrays that lie as this one does.

Parameters
----------
array : array, or list or tuple of arrays
    NumPy array, torch tensor or any CPU object with ``__dlpack__``, of any strides that are whole
    elements. Only its shape, dtype and strides are taken. A list makes a chain of several sources.

Returns
-------
Chain
    Without steps.

Raises
------
TypeError
    `array` is no array, or several have different dtypes.
ValueError
    Its strides are no whole number of elements (a field of a struct, say), or its layout is blocked. Or
    the list is empty.

Examples
--------
>>> import numpy as np, dnnmove as dm
>>> dm.Chain.of(np.zeros((2, 3), "int8")).transpose().build()(np.arange(6, dtype="int8").reshape(2, 3)).tolist()
[[0, 3], [1, 4], [2, 5]]
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

inline constexpr const char* kChainDrawDoc = R"doc(draw(self, path=None)
--

The picture of the chain as it would be built, as SVG: input, steps, outputs, and the loop nest of each pass.

Each box is an array: its shape, and for each axis the loops ``length@stride`` (bytes of what is read) that its
elements are found by, in the colour of the axis of the input that they walk. Branches of a split lie beside
one another. Below is what runs: for each pass the loops around the kernel, as `explain` says them. Of what
is many (steps, branches, copies) the first are drawn, and how many more there are is said. Light or dark as
the viewer is.

Parameters
----------
path : str or os.PathLike, optional
    A file to write, whose name ends in .svg. It is there whole or, after an error, as it was.

Returns
-------
str or None
    The SVG text; None where it was written to a file.

Raises
------
TypeError
    `path` is no path.
ValueError
    `path` does not end in .svg.
OSError
    The file cannot be written: FileNotFoundError where its folder is not there, IsADirectoryError,
    PermissionError.

Examples
--------
>>> import dnnmove as dm
>>> chain = dm.Chain(dm.MemoryDesc((2, 12, 5, 7), "float32")).shuffle_channels(1, 4).transpose((0, 2, 3, 1))
>>> svg = chain.draw()
>>> svg.startswith("<svg"), "shuffle_channels" in svg
(True, True)
)doc";

inline constexpr const char* kBuiltDrawDoc = R"doc(draw($self, path=None)
--

The picture of the chain, as SVG: input, steps, outputs, and the loop nest of each pass.

Each box is an array: its shape, and for each axis the loops ``length@stride`` (bytes of what is read) that its
elements are found by, in the colour of the axis of the input that they walk. Branches of a split lie beside
one another. Below is what runs: for each pass the loops around the kernel, as `explain` says them. Of what
is many (steps, branches, copies) the first are drawn, and how many more there are is said. Light or dark as
the viewer is.

Parameters
----------
path : str or os.PathLike, optional
    A file to write, whose name ends in .svg. It is there whole or, after an error, as it was.

Returns
-------
str or None
    The SVG text; None where it was written to a file.

Raises
------
TypeError
    `path` is no path.
ValueError
    `path` does not end in .svg.
OSError
    The file cannot be written: FileNotFoundError where its folder is not there, IsADirectoryError,
    PermissionError.

Examples
--------
>>> import dnnmove as dm
>>> chain = dm.Chain(dm.MemoryDesc((2, 12, 5, 7), "float32")).shuffle_channels(1, 4).transpose((0, 2, 3, 1))
>>> svg = chain.build().draw()
>>> svg.startswith("<svg"), "shuffle_channels" in svg
(True, True)
)doc";

}  // namespace dnnmove::python
