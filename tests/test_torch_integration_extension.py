"""The part of dnnmove.torch that is compiled for the installed torch: the same tests as for Python's ways, and its own.

The tests of the other files run here once more, with that part in use.
"""

import gc
import threading
import tracemalloc

import pytest

torch = pytest.importorskip("torch")

import test_torch_integration_compile  # noqa: E402
from test_torch_integration_compile import test_compiled_autograd  # noqa: E402, F401
from test_torch_integration_functions import *  # noqa: E402, F403
from test_torch_integration_gradients import *  # noqa: E402, F403
from torch_cases import some  # noqa: E402

import dnnmove as dm  # noqa: E402
import dnnmove.torch as dt  # noqa: E402
from dnnmove import _core  # noqa: E402
from dnnmove.torch import _compiled, _functions  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning")


@pytest.fixture(scope="module", autouse=True)
def extension(tmp_path_factory):
    """Built once for this file and in use in it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DNNMOVE_EXTENSION_DIR", str(tmp_path_factory.mktemp("extension")))
        patch.setattr(_functions, "_shuffled", _core._channel_shuffle)
        path = dt.build_extension()
        dt.channel_shuffle(some(), 3)  # the first call of a process settles its threads
        yield path


@pytest.fixture
def left_over(monkeypatch):
    """What the extension leaves to Python, as a list of calls."""
    calls = []

    def direct(*arguments):
        calls.append(arguments)
        return _core._channel_shuffle(*arguments)

    _functions._shuffled.__self__.bind(_core._engine_interface, direct, dt.channel_shuffle)
    yield calls
    _functions._shuffled.__self__.bind(_core._engine_interface, _core._channel_shuffle, dt.channel_shuffle)


def test_plain_tensors_are_not_left_over(left_over):
    upstream = some()
    for x in (some(), some(requires_grad=True), torch.nn.Parameter(some()), some().transpose(0, 2), some()[:, ::2]):
        groups = x.shape[1]
        y = dt.channel_shuffle(x, groups)
        assert torch.equal(y, torch.channel_shuffle(x, groups))
        if x.requires_grad:
            assert y.grad_fn.name() == "ChannelShuffleBackward"
            assert not isinstance(y.grad_fn, torch.autograd.function.BackwardCFunction)
            y.backward(upstream)
    with torch.no_grad():
        assert not dt.channel_shuffle(some(requires_grad=True), 3).requires_grad
    assert left_over == []


class Mode(torch.utils._python_dispatch.TorchDispatchMode):
    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        return function(*args, **(kwargs or {}))


def under_a_mode(x):
    with Mode():
        dt.channel_shuffle(x, 3)


def under_a_profile(x):
    with dm.profile() as profile:
        dt.channel_shuffle(x, 3)
    assert len(profile.records) == 1


def with_a_tangent(x):
    with torch.autograd.forward_ad.dual_level():
        dt.channel_shuffle(torch.autograd.forward_ad.make_dual(x, x), 3)


@pytest.mark.parametrize(
    "call",
    [
        with_a_tangent,
        under_a_mode,
        under_a_profile,
        lambda x: dt.channel_shuffle(torch.complex(x, x).conj(), 3),
        lambda x: dt.channel_shuffle(torch.complex(x, x).conj().imag, 3),
        lambda x: dt.channel_shuffle(x.as_subclass(type("Named", (torch.Tensor,), {})), 3),
        lambda x: torch.func.vmap(lambda x: dt.channel_shuffle(x[None], 3))(x),
        lambda x: dt.channel_shuffle(x.to("meta"), 3),
    ],
)
def test_what_is_left_over(call, left_over):
    call(some())
    assert left_over


@pytest.mark.parametrize("groups", [4, 0, -3, 2**70, 2.0, True, None])
def test_wrong_arguments_are_left_over(groups, left_over):
    for x in (some(), some(requires_grad=True)):
        with pytest.raises((TypeError, ValueError), match="groups"):
            dt.channel_shuffle(x, groups)
    assert len(left_over) == 2


def test_a_gradient_that_others_watch():
    x = some(requires_grad=True)
    y = dt.channel_shuffle(x, 3)
    upstream = torch.stack([some(seed=i) for i in range(4)])
    (gradients,) = torch.autograd.grad(y, x, upstream, is_grads_batched=True)
    assert torch.equal(gradients, torch.stack([torch.channel_shuffle(one, 2) for one in upstream]))

    class Watched(torch.Tensor):
        pass

    (gradient,) = torch.autograd.grad(dt.channel_shuffle(x, 3), x, upstream[0].as_subclass(Watched))
    assert torch.equal(gradient, torch.channel_shuffle(upstream[0], 2))


def test_a_way_back_that_gives_no_tensor():
    bind = _functions._shuffled.__self__.bind
    bind(_core._engine_interface, _core._channel_shuffle, lambda *_: None)
    try:
        y = dt.channel_shuffle(some(requires_grad=True), 3)
        with dm.profile(), pytest.raises(TypeError, match="NoneType"):
            y.sum().backward()
    finally:
        bind(_core._engine_interface, _core._channel_shuffle, dt.channel_shuffle)


def test_an_error_in_the_way_back_is_raised(monkeypatch):
    def refuse(*_):
        raise ValueError("refused here")

    bind = _functions._shuffled.__self__.bind
    bind(_core._engine_interface, _core._channel_shuffle, refuse)
    try:
        x = some(requires_grad=True)
        y = dt.channel_shuffle(x, 3)
        with dm.profile(), pytest.raises(ValueError, match="refused here"):
            y.sum().backward()
    finally:
        bind(_core._engine_interface, _core._channel_shuffle, dt.channel_shuffle)
    y = dt.channel_shuffle(x, 3)
    y.sum().backward()
    assert torch.equal(x.grad, torch.ones_like(x))


def test_a_tensor_whose_memory_was_given_back():
    upstream = some()
    y = dt.channel_shuffle(some(requires_grad=True), 3)
    for x in (some(), some(requires_grad=True), upstream):
        x.untyped_storage().resize_(0)
        with pytest.raises(TypeError, match="no memory behind it"):
            dt.channel_shuffle(x, 3)
    with pytest.raises((TypeError, RuntimeError)):
        y.backward(upstream)


def test_a_gradient_that_never_comes():
    x = some(requires_grad=True)
    twice = dt.channel_shuffle(x, 3), dt.channel_shuffle(x, 2)
    (gradient,) = torch.autograd.grad(twice[0].sum(), x)
    assert torch.equal(gradient, torch.ones_like(x))
    assert torch.autograd.grad(twice[1].detach().requires_grad_().sum(), x, allow_unused=True) == (None,)


@pytest.mark.parametrize("size", [1, 64])  # with and without Python's lock
def test_many_threads(size):
    x = torch.randn(4, 6, size, size)
    expected = torch.channel_shuffle(x, 3)
    wrong = []

    def call():
        mine = x.clone().requires_grad_()
        for _ in range(50):
            y = dt.channel_shuffle(mine, 3)
            (gradient,) = torch.autograd.grad(y, mine, expected)
            if not torch.equal(y, expected) or not torch.equal(gradient, x):
                wrong.append(gradient)

    threads = [threading.Thread(target=call) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_workers_of_a_dataloader():
    test_torch_integration_compile.test_workers_of_a_dataloader("spawn")


def test_nothing_leaks():
    x = some(requires_grad=True)

    def call():
        y = dt.channel_shuffle(x, 3)
        torch.autograd.grad(y, x, y.detach())
        with pytest.raises(ValueError, match="groups"):
            dt.channel_shuffle(x, 5)

    call()
    gc.collect()
    tracemalloc.start()
    try:
        call()
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(200):
            call()
        gc.collect()
        assert tracemalloc.get_traced_memory()[0] - before < 20_000
    finally:
        tracemalloc.stop()


def test_it_is_built_again(extension, monkeypatch, tmp_path):
    monkeypatch.setenv("DNNMOVE_EXTENSION_DIR", str(tmp_path / "new"))
    path = dt.build_extension()
    assert path.parent == tmp_path / "new"
    assert path.name == extension.name
    assert [file.name for file in path.parent.iterdir()] == [path.name]
    assert torch.equal(dt.channel_shuffle(some(), 3), torch.channel_shuffle(some(), 3))


def test_a_compiler_that_fails(monkeypatch, tmp_path, errors_name):
    monkeypatch.setenv("DNNMOVE_EXTENSION_DIR", str(tmp_path))
    monkeypatch.setenv("CXX", "false")
    errors_name(RuntimeError, dt.build_extension, "compile")
    assert list(tmp_path.iterdir()) == []


def test_it_is_found_again_by_other_processes(extension, run_python):
    program = """
import torch, dnnmove.torch as dt
torch.set_num_threads(2)  # on one thread the way of Python is torch's own operator
x = torch.arange(6.0).reshape(1, 6, 1).requires_grad_()
dt.channel_shuffle(x, 2)
y = dt.channel_shuffle(x, 2)
print(isinstance(y.grad_fn, torch.autograd.function.BackwardCFunction), y.flatten().tolist())
"""
    shuffled = "[0.0, 3.0, 1.0, 4.0, 2.0, 5.0]"
    found = run_python(program, DNNMOVE_EXTENSION_DIR=str(extension.parent))
    assert found.strip() == f"False {shuffled}"
    missing = run_python(program, DNNMOVE_EXTENSION_DIR=str(extension.parent / "nothing"))
    assert missing.strip() == f"True {shuffled}"


def test_a_broken_file_is_named_and_not_used(extension, run_python, tmp_path):
    (tmp_path / extension.name).write_bytes(b"no library")
    program = """
import warnings
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import dnnmove.torch as dt
import torch
print([str(warning.message) for warning in caught if "build_extension" in str(warning.message)])
print(dt.channel_shuffle(torch.arange(4.0).reshape(1, 4), 2).tolist())
"""
    printed = run_python(program, DNNMOVE_EXTENSION_DIR=str(tmp_path)).splitlines()
    assert extension.name in printed[0]
    assert printed[1] == "[[0.0, 2.0, 1.0, 3.0]]"


def test_what_it_takes_to_build(monkeypatch, tmp_path, errors_name):
    monkeypatch.setenv("DNNMOVE_EXTENSION_DIR", str(tmp_path / "new"))
    monkeypatch.setenv("CXX", "no-such-compiler")
    errors_name(RuntimeError, dt.build_extension, "no-such-compiler", "CXX")
    monkeypatch.delenv("CXX")
    monkeypatch.setattr(_compiled.shutil, "which", lambda name, path=None: None if name == "ninja" else name)
    errors_name(RuntimeError, dt.build_extension, "pip install ninja")
    monkeypatch.setattr(torch, "__version__", "2.9.1")
    errors_name(RuntimeError, dt.build_extension, "torch 2.9.1", "2.13")
    assert not (tmp_path / "new").exists()


def test_a_folder_that_cannot_be_made(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("DNNMOVE_EXTENSION_DIR", str(tmp_path / "file" / "below"))
    assert not _compiled.load()
    with pytest.raises(OSError, match="below"):
        dt.build_extension()


def test_an_interface_of_another_version_is_refused():
    bind = _functions._shuffled.__self__.bind
    with pytest.raises(ValueError, match="PyCapsule"):
        bind(object(), None, None)
    dt.channel_shuffle(some(), 3)
