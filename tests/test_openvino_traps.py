"""The traps of OpenVINO: each gives the right answer or a clean error."""

import numpy as np
import pytest
import strategies as some

import dnnmove as dm


def test_lengths_beyond_the_axis_do_not_read_past_the_buffer(errors_name):
    x = some.dense((6,), "f4")
    errors_name(ValueError, lambda: dm.variadic_split(x, 0, [-1, 8]), "split_lengths", "(-1, 8)", "(6)")
    errors_name(ValueError, lambda: dm.variadic_split(x, 0, [8, -1]), "split_lengths", "(6)")


@pytest.mark.parametrize(("axis", "lengths"), [(0.0, [6]), (np.array(0.0), [6]), (0, [6.0]), (0, np.array([2.0, 4.0]))])
def test_float_axes_and_lengths_of_a_split(axis, lengths):
    with pytest.raises(TypeError):
        dm.variadic_split(some.dense((6,), "f4"), axis, lengths)


def test_a_split_of_rank_0():
    with pytest.raises(np.exceptions.AxisError):
        dm.variadic_split(np.array(1.0), 0, [1])


def test_negative_targets_do_not_kill(errors_name):
    for mode in ("numpy", "bidirectional"):
        errors_name(
            ValueError, lambda mode=mode: dm.broadcast(np.zeros((1, 3)), (-2, 3), mode=mode), "target_shape", "-2"
        )
    errors_name(ValueError, lambda: dm.broadcast(np.zeros(3), (-1, 3), [1], "explicit"), "target_shape", "-1")


@pytest.mark.parametrize("mode", ["numpy", "explicit", "bidirectional"])
def test_lengths_of_zero_do_not_divide(mode):
    mapping = {"axes_mapping": [0, 1]} if mode == "explicit" else {}
    assert dm.broadcast(np.zeros((0, 3)), (0, 3), mode=mode, **mapping).shape == (0, 3)
    assert dm.broadcast(np.zeros((1, 3)), (0, 3), mode=mode, **mapping).shape == (0, 3)
    for target in ((2, 3), (4, 3)):
        with pytest.raises(ValueError, match="target_shape"):
            dm.broadcast(np.zeros((0, 3)), target, mode=mode, **mapping)
    if mode != "bidirectional":
        with pytest.raises(ValueError, match="target_shape"):
            dm.broadcast(np.zeros((0, 3)), (1, 3), mode=mode, **mapping)


def test_bidirectional_zero_against_one_is_zero():
    assert dm.broadcast(np.zeros((0, 3)), (1, 3), mode="bidirectional").shape == (0, 3)
    assert dm.broadcast(np.zeros((1, 3)), (0, 1), mode="bidirectional").shape == (0, 3)


@pytest.mark.parametrize("mapping", [[1, 0], [1, 1], [0, 0]])
def test_mappings_that_transpose_or_repeat(mapping, errors_name):
    x = some.dense((3, 3), "f4")
    errors_name(
        ValueError, lambda: dm.broadcast(x, (3, 3, 3), mapping, "explicit"), "axes_mapping", str(tuple(mapping))
    )


def test_a_channel_shuffle_of_rank_1_with_the_default_axis():
    with pytest.raises(np.exceptions.AxisError):
        dm.shuffle_channels(np.arange(6), group=2)
