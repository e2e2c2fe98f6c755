"""DepthToSpace, SpaceToDepth, Tile and Slice as chains, on ONNX's official cases."""

import warnings

import numpy as np
import pytest

import dnnmove as dm

onnx = pytest.importorskip("onnx")


def depth_to_space(chain, inputs, attributes):
    return chain.depth_to_space(attributes["blocksize"], attributes.get("mode", b"DCR").decode())


def space_to_depth(chain, inputs, attributes):
    # ONNX has a mode for this one, too, since its version 27; CRD is torch's pixel_unshuffle.
    crd = attributes.get("mode", b"DCR") == b"CRD"
    return chain.pixel_unshuffle(attributes["blocksize"]) if crd else chain.space_to_depth(attributes["blocksize"])


def tile(chain, inputs, attributes):
    return chain.tile(inputs[1])


def slices(chain, inputs, attributes):
    data, starts, ends, *rest = inputs
    axes = rest[0] if rest else range(len(starts))
    steps = rest[1] if len(rest) > 1 else [1] * len(starts)
    key = [slice(None)] * data.ndim
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        key[axis] = slice(start, end, step)
    return chain.index(tuple(key))


OPERATIONS = {"DepthToSpace": depth_to_space, "SpaceToDepth": space_to_depth, "Tile": tile, "Slice": slices}


@pytest.fixture(scope="module")
def cases():
    """(name, operator, attributes, inputs, output) of every node test of these operators."""
    from onnx.backend.test.loader import load_model_tests

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the loader computes cases that overflow
        tests = load_model_tests(kind="node")
    found = []
    for test in tests:
        nodes = test.model.graph.node
        if len(nodes) == 1 and nodes[0].op_type in OPERATIONS:
            attributes = {a.name: onnx.helper.get_attribute_value(a) for a in nodes[0].attribute}
            for inputs, (output,) in test.data_sets:
                found.append((test.name, nodes[0].op_type, attributes, inputs, output))
    return found


@pytest.mark.parametrize("operator", OPERATIONS)
def test_onnx_cases(cases, operator):
    mine = [case for case in cases if case[1] == operator]
    assert mine
    for name, _, attributes, inputs, output in mine:
        built = OPERATIONS[operator](dm.Chain.of(inputs[0]), inputs, attributes).build()
        assert built.passes == 1, name
        np.testing.assert_array_equal(built(inputs[0]), output, strict=True, err_msg=name)
