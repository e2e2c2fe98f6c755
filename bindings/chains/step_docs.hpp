// The docstrings of the steps, in parts: a method of Chain and the eager function of its name share them.
#pragma once

namespace dnnmove::python {

struct StepDoc {
    const char* summary;
    const char* parameters;  // but for the array and `out`
    const char* raises;      // but for TypeErrors
    const char* notes;       // may be empty
    const char* example;     // of the eager function; where there is none, of the method, or empty
};

inline constexpr StepDoc kShuffleStep{"Shuffle one axis in oneDNN's meaning: `group_size` is the size of one group.",
                                      R"(axis : int
    In [-ndim, ndim).
group_size : int
    Divides the axis.
)",
                                      "", "", ""};

inline constexpr StepDoc kShuffleChannelsStep{"Shuffle channels in OpenVINO's meaning: `group` is the number of groups.",
                                              R"(axis : int, default 1
    In [-ndim, ndim).
group : int, default 1
    Divides the axis.
)",
                                              "", "", ""};

inline constexpr StepDoc kTransposeStep{"Permute the axes.",
                                        R"(input_order : sequence of int, default ()
    A permutation of the axes, negative ones count from the end; empty reverses them.
)",
                                        "", "", ""};

inline constexpr StepDoc kVariadicSplitStep{"Split one axis into parts of given lengths; further steps apply to every part.",
                                            R"(axis : int
    In [-ndim, ndim).
split_lengths : sequence of int
    At least 0 each; one may be -1, which takes what is left.
)",
                                            "", "", ""};

inline constexpr StepDoc kSplitStep{"Split one axis into equal parts; further steps apply to every part.",
                                    R"(axis : int
    In [-ndim, ndim).
num_splits : int
    Divides the axis.
)",
                                    "", "", ""};

inline constexpr StepDoc kBroadcastStep{"Repeat the data to a shape.",
                                        R"(target_shape : sequence of int
    Lengths of at least 0.
axes_mapping : sequence of int, optional
    For ``mode="explicit"``: the axis of the target that each axis becomes.
mode : {"numpy", "explicit", "bidirectional"}, default "numpy"
    How the shapes are matched.
)",
                                        "", "", ""};

inline constexpr StepDoc kReshapeStep{"Change the shape; the row-major order of the elements stays.",
                                      R"(shape : sequence of int
    As many elements as before; one length may be -1, which takes what is left.
)",
                                      R"(ValueError
    The shape holds another number of elements.
)",
                                      "",
                                      R"(>>> dm.Chain.of(np.zeros((2, 3, 4))).reshape((-1, 4)).dst_desc.dims
(6, 4)
)"};

inline constexpr StepDoc kIndexStep{
    "Index the data as NumPy's basic indexing does: crops, strides, flips, dropped and new axes.",
    R"(key : int, slice, None, Ellipsis or tuple of them
    What stands between the brackets in NumPy; ``np.s_[...]`` writes it down.
)",
    R"(IndexError
    An integer is out of bounds, or the key names more axes than there are.
ValueError
    A slice has a step of 0.
)",
    "",
    R"(BGR to RGB:

>>> pixel = np.array([[10, 20, 30]], dtype="uint8")
>>> dm.Chain.of(pixel).index(np.s_[:, ::-1]).build()(pixel).tolist()
[[30, 20, 10]]
)"};

inline constexpr StepDoc kBranchStep{
    "Turn to one output: the steps that follow apply to it alone, the other outputs pass by them.",
    R"(i : int or None
    Which of the outputs of the steps so far, counted flat and from the end where negative. None
    turns to all of them again. A later ``branch(j)`` counts all outputs anew; a split inside a
    branch passes the turn on to all its parts.
)",
    R"(IndexError
    There is no such output.
)",
    "All outputs still come out of the same passes.",
    R"(The queries of attention stay as they are, keys and values are repeated for the heads that share them:

>>> x = np.arange(2 * 8).reshape(2, 8)
>>> f = (dm.Chain.of(x).variadic_split(1, [4, 2, 2])
...        .branch(1).broadcast((2, 2, 2)).branch(2).broadcast((2, 2, 2)).branch(None).build())
>>> [y.shape for y in f(x)], f.passes
([(2, 4), (2, 2, 2), (2, 2, 2)], 1)
)"};

inline constexpr StepDoc kStackStep{
    "Join the sources of a chain of several along a new axis; its first step, and none of any other chain.",
    R"(axis : int, default 0
    Where the new axis is in the result, in [-ndim - 1, ndim + 1).
)",
    R"(ValueError
    The sources have different shapes, the chain has one source, or this is not its first step.
numpy.exceptions.AxisError
    `axis` lies outside the result.
)",
    "As ``numpy.stack``.",
    R"(A batch of images, channels first, in one pass:

>>> images = [np.full((2, 2, 3), i, dtype="uint8") for i in range(4)]
>>> f = dm.Chain.of(images).stack().transpose((0, 3, 1, 2)).build()
>>> f(images).shape, f.passes
((4, 3, 2, 2), 1)
)"};

inline constexpr StepDoc kConcatStep{
    "Join the sources of a chain of several along one axis; its first step, and none of any other chain.",
    R"(axis : int, default 0
    In [-ndim, ndim).
)",
    R"(ValueError
    The sources have different shapes but for that axis, the chain has one source, or this is not its first step.
numpy.exceptions.AxisError
    `axis` lies outside [-ndim, ndim).
)",
    "As ``numpy.concatenate``.",
    R"(>>> a, b = np.array([[1, 2]]), np.array([[3, 4], [5, 6]])
>>> dm.Chain.of([a, b]).concat().transpose().build()([a, b]).tolist()
[[1, 3, 5], [2, 4, 6]]
)"};

inline constexpr const char* kAxisErrors = R"(numpy.exceptions.AxisError
    An axis lies outside [-ndim, ndim).
)";

inline constexpr StepDoc kSqueezeStep{"Drop axes of length 1.",
                                      R"(axis : int or sequence of int, optional
    Which; all axes of length 1 by default.
)",
                                      R"(ValueError
    A named axis has another length, or is named twice.
numpy.exceptions.AxisError
    An axis lies outside [-ndim, ndim).
)",
                                      "As ``numpy.squeeze``.",
                                      R"(>>> dm.squeeze(np.zeros((1, 3, 1)), axis=0).shape
(3, 1)
)"};

inline constexpr StepDoc kExpandDimsStep{"Put in axes of length 1.",
                                         R"(axis : int or sequence of int
    Where they are in the result, negative ones from its end.
)",
                                         R"(ValueError
    An axis is named twice.
numpy.exceptions.AxisError
    An axis lies outside the result.
)",
                                         "As ``numpy.expand_dims``.",
                                         R"(>>> dm.expand_dims(np.zeros((2, 3)), axis=(0, -1)).shape
(1, 2, 3, 1)
)"};

inline constexpr StepDoc kMoveAxisStep{"Move axes to other places; the other axes keep their order.",
                                       R"(source : int or sequence of int
    The axes to move, in [-ndim, ndim).
destination : int or sequence of int
    Where each goes, in [-ndim, ndim).
)",
                                       R"(ValueError
    The two name different numbers of axes, or one axis twice.
numpy.exceptions.AxisError
    An axis lies outside [-ndim, ndim).
)",
                                       "As ``numpy.moveaxis``.",
                                       R"(>>> dm.moveaxis(np.zeros((2, 3, 4, 5)), 1, -1).shape
(2, 4, 5, 3)
)"};

inline constexpr StepDoc kSwapAxesStep{"Exchange two axes.",
                                       R"(axis1, axis2 : int
    In [-ndim, ndim).
)",
                                       kAxisErrors, "As ``numpy.swapaxes``.",
                                       R"(>>> dm.swapaxes(np.zeros((2, 3, 4)), 0, 2).shape
(4, 3, 2)
)"};

inline constexpr StepDoc kFlattenStep{"Merge neighbouring axes into one.",
                                      R"(start : int, default 0
    The first of them, in [-ndim, ndim).
end : int, default -1
    The last of them.
)",
                                      R"(ValueError
    `start` lies behind `end`.
numpy.exceptions.AxisError
    An axis lies outside [-ndim, ndim).
)",
                                      "As ``torch.flatten``: data without axes gets one of length 1.",
                                      R"(>>> dm.flatten(np.zeros((2, 3, 4)), start=1).shape
(2, 12)
)"};

inline constexpr StepDoc kUnflattenStep{"Cut one axis into several.",
                                        R"(axis : int
    In [-ndim, ndim).
sizes : sequence of int
    Their lengths, whose product is the axis'; one may be -1, which takes what is left.
)",
                                        R"(ValueError
    The lengths have another product.
numpy.exceptions.AxisError
    `axis` lies outside [-ndim, ndim).
)",
                                        "As ``torch.unflatten``.",
                                        R"(>>> dm.unflatten(np.zeros((2, 12)), 1, (3, -1)).shape
(2, 3, 4)
)"};

inline constexpr StepDoc kFlipStep{"Reverse the order of the elements along axes.",
                                   R"(axis : int or sequence of int, optional
    Which; all axes by default.
)",
                                   R"(ValueError
    An axis is named twice.
numpy.exceptions.AxisError
    An axis lies outside [-ndim, ndim).
)",
                                   "As ``numpy.flip``.",
                                   R"(>>> dm.flip(np.array([[1, 2], [3, 4]]), axis=1)
array([[2, 1],
       [4, 3]])
)"};

inline constexpr StepDoc kRollStep{"Shift the elements along axes; what leaves at one end comes in at the other.",
                                   R"(shift : int or sequence of int
    By how many places, towards the end where positive.
axis : int or sequence of int, optional
    Along which axes, in [-ndim, ndim): one shift for each, or one for all. By default the
    flattened data are shifted. Shifts of an axis that is named several times add up.
)",
                                   R"(ValueError
    `shift` and `axis` are sequences of different lengths.
numpy.exceptions.AxisError
    An axis lies outside [-ndim, ndim).
)",
                                   "As ``numpy.roll``.",
                                   R"(>>> dm.roll(np.arange(5), 2)
array([3, 4, 0, 1, 2])
)"};

inline constexpr StepDoc kTileStep{"Repeat the data as a whole.",
                                   R"(reps : int or sequence of int
    How often along each axis, at least 0; the shorter of `reps` and the shape gets ones in front.
)",
                                   R"(ValueError
    A number of repeats is negative.
)",
                                   "As ``numpy.tile``.",
                                   R"(>>> dm.tile(np.array([[1, 2]]), (2, 2))
array([[1, 2, 1, 2],
       [1, 2, 1, 2]])
)"};

inline constexpr StepDoc kRepeatElementsStep{"Repeat every element along an axis.",
                                             R"(repeats : int or sequence of int
    How often, at least 0: one number, or one for each element of the axis.
axis : int
    In [-ndim, ndim).
)",
                                             R"(ValueError
    A number of repeats is negative, or there are not as many as elements.
numpy.exceptions.AxisError
    `axis` lies outside [-ndim, ndim).
)",
                                             "As ``numpy.repeat`` with an axis.",
                                             R"(>>> dm.repeat_elements(np.array([1, 2, 3]), 2, axis=0)
array([1, 1, 2, 2, 3, 3])
)"};

inline constexpr StepDoc kTakeStep{
    "Take the elements at given places of an axis.",
    R"(indices : sequence of int
    The places, in any order and as often as wanted, negative ones from the end.
axis : int
    In [-ndim, ndim).
)",
    R"(IndexError
    An index lies outside [-length, length) of the axis.
numpy.exceptions.AxisError
    `axis` lies outside [-ndim, ndim).
)",
    "As ``numpy.take`` with an axis and one-dimensional indices, which are part of the plan: meant for indices that\n"
    "stay from call to call.",
    R"(>>> dm.take(np.array([[1, 2, 3]]), [2, 0, 0], axis=1)
array([[3, 1, 1]])
)"};

inline constexpr StepDoc kUnfoldStep{"Cut an axis into windows, which may overlap; their elements become a new last axis.",
                                     R"(axis : int
    In [-ndim, ndim).
size : int
    Of a window, at least 1 and at most the length of the axis.
step : int, default 1
    From one window to the next, at least 1. An incomplete last window is left out.
)",
                                     R"(ValueError
    `size` or `step` is out of range.
numpy.exceptions.AxisError
    `axis` lies outside [-ndim, ndim).
)",
                                     "As ``torch.Tensor.unfold``.",
                                     R"(>>> dm.unfold(np.arange(5), 0, size=3, step=2)
array([[0, 1, 2],
       [2, 3, 4]])
)"};

inline constexpr StepDoc kSpaceToDepthStep{"Move blocks of pixels to channels.",
                                           R"(block_size : int
    Height and width of a block; divides both of the data.
)",
                                           R"(ValueError
    The data have other than 4 axes (N, C, H, W), or `block_size` does not fit.
)",
                                           "As ONNX's SpaceToDepth.",
                                           R"(>>> dm.space_to_depth(np.zeros((1, 3, 4, 6)), 2).shape
(1, 12, 2, 3)
)"};

inline constexpr StepDoc kDepthToSpaceStep{"Move channels to blocks of pixels.",
                                           R"(block_size : int
    Height and width of a block; its square divides the channels.
mode : {"DCR", "CRD"}, default "DCR"
    Whether the channels are the blocks' pixels first, or each channel's pixels one after another.
)",
                                           R"(ValueError
    The data have other than 4 axes (N, C, H, W), `block_size` does not fit, or `mode` is another.
)",
                                           "As ONNX's DepthToSpace.",
                                           R"(>>> dm.depth_to_space(np.zeros((1, 12, 2, 3)), 2).shape
(1, 3, 4, 6)
)"};

inline constexpr StepDoc kPixelShuffleStep{"Move channels to blocks of pixels, each channel's pixels one after another.",
                                           R"(factor : int
    Height and width of a block; its square divides the channels.
)",
                                           R"(ValueError
    The data have fewer than 3 axes (..., C, H, W), or `factor` does not fit.
)",
                                           "As ``torch.nn.functional.pixel_shuffle``.",
                                           R"(>>> dm.pixel_shuffle(np.zeros((1, 12, 2, 3)), 2).shape
(1, 3, 4, 6)
)"};

inline constexpr StepDoc kPixelUnshuffleStep{"Move blocks of pixels to channels, each channel's pixels one after another.",
                                             R"(factor : int
    Height and width of a block; divides both of the data.
)",
                                             R"(ValueError
    The data have fewer than 3 axes (..., C, H, W), or `factor` does not fit.
)",
                                             "As ``torch.nn.functional.pixel_unshuffle``.",
                                             R"(>>> dm.pixel_unshuffle(np.zeros((1, 3, 4, 6)), 2).shape
(1, 12, 2, 3)
)"};

inline constexpr StepDoc kRearrangeStep{"Rearrange the data as a pattern of einops says.",
                                        R"(pattern : str
    Names of the axes before and after, as in ``"b (h w) c -> b c h w"``: parentheses stand for
    one axis that several make up, slowest first; ``1`` for an axis of length 1; ``...`` for any
    number of axes.
**lengths : int
    Lengths of axes, by name, where the pattern alone does not tell.
)",
                                        R"(ValueError
    The pattern is wrong (the message says where), or a length does not fit.
)",
                                        "As ``einops.rearrange``.",
                                        R"(>>> dm.rearrange(np.zeros((2, 12, 3)), "b (h w) c -> b c h w", h=3).shape
(2, 3, 3, 4)
)"};

inline constexpr StepDoc kRepeatStep{"Repeat and rearrange the data as a pattern of einops says.",
                                     R"(pattern : str
    As `rearrange`'s; axes that only the right side has are new, the data are repeated along them.
    A number above 1 is a new axis of that length.
**lengths : int
    Lengths of axes, by name: of new ones, and where the pattern alone does not tell.
)",
                                     R"(ValueError
    The pattern is wrong (the message says where), or a length does not fit.
)",
                                     "As ``einops.repeat``.",
                                     R"doc(>>> dm.repeat(np.array([[1, 2]]), "h w -> (h 2) (w 2)")
array([[1, 1, 2, 2],
       [1, 1, 2, 2]])
)doc"};

}  // namespace dnnmove::python
