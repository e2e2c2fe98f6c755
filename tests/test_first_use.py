"""What a process finds out once: first calls of several threads find it out at the same time."""

import pytest

pytest.importorskip("torch")

# Imports run Python here, as they do when an import hook is installed, so that the first thread lets go of the
# interpreter's lock in the middle of its first call.
PROGRAM = """
import builtins, threading, time
import torch
import dnnmove as dm
import dnnmove.torch

shuffle = dict(
    eager=lambda x: dm.shuffle_channels(x, axis=1, group=2),
    torch=lambda x: dm.torch.channel_shuffle(x, 2),
)[ARGUMENTS]
x = torch.arange(24.0).reshape(2, 4, 3, 1)
want = x.reshape(2, 2, 2, 3, 1).transpose(1, 2).reshape(2, 4, 3, 1)
plain_import = builtins.__import__

def slow_import(*arguments, **options):
    time.sleep(0.02)
    return plain_import(*arguments, **options)

builtins.__import__ = slow_import
barrier = threading.Barrier(3)
right = []

def call():
    barrier.wait()
    right.append(torch.equal(shuffle(x), want))

threads = [threading.Thread(target=call, daemon=True) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join(20)
print("right" if right == [True] * 3 else f"only {right}")
"""


@pytest.mark.parametrize("call", ["eager", "torch"])
def test_first_calls_at_the_same_time(call, run_python):
    assert run_python(PROGRAM.replace("ARGUMENTS", repr(call))) == "right\n"
