"""Calls by threads whose stacks have 64 KiB, half of what musl gives: stages do not lie there."""

import subprocess
import sys
import textwrap

import pytest

pytestmark = pytest.mark.unsanitized  # which takes stack of its own

BODY = """
import sys, threading
import numpy as np
import dnnmove as dm

threading.stack_size(64 * 1024)
dm.set_num_threads(int(sys.argv[1]))
random = np.random.default_rng(1)


def numbers(shape, dtype="float32"):
    return random.integers(0, 100, shape).astype(dtype)


fours = numbers((54, 54, 54, 54))
parts = [numbers((200_000, width), "uint8") for width in (12, 10, 8, 20, 30)]
ranks = numbers((3,) * 14)
wide = numbers((32, 65, 56, 56), "int16")
images = numbers((16, 3, 256, 256), "uint8")
odd_first = tuple(range(1, 14, 2)) + tuple(range(0, 14, 2))
channels_last = (0, 2, 3, 1)
scaled = dm.Chain(dm.MemoryDesc.of(images)).transpose(channels_last).convert("float32", scale=0.5).build()
CALLS = {
    "transpose into runs": lambda: (dm.transpose(fours, (1, 0, 3, 2)), fours.transpose(1, 0, 3, 2)),
    "staged tiles": lambda: (dm.transpose(wide, channels_last), wide.transpose(channels_last)),
    "staged records": lambda: (dm.concat(parts * 2, axis=1), np.concatenate(parts * 2, axis=1)),
    "many axes": lambda: (dm.transpose(ranks, odd_first), ranks.transpose(odd_first)),
    "conversion": lambda: (scaled(images), images.transpose(channels_last) * np.float32(0.5)),
    "shuffle": lambda: (
        dm.shuffle_channels(parts[4], 1, 3), parts[4].reshape(-1, 3, 10).swapaxes(1, 2).reshape(-1, 30)
    ),
}
found = {}


def call():
    ours, expected = CALLS[sys.argv[2]]()
    found["same"] = np.array_equal(ours, expected)


thread = threading.Thread(target=call)
thread.start()
thread.join()
assert found["same"]
"""
NAMES = ["transpose into runs", "staged tiles", "staged records", "many axes", "conversion", "shuffle"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("threads", [1, 2])
def test_small_stacks(name, threads):
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(BODY), str(threads), name], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
