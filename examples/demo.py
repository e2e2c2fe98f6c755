"""The data movement of a ShuffleNet v2 unit on a real photograph, every step checked against NumPy.

Crops and mirror images of the photograph (it ships with matplotlib) make a batch. Through the primitive API:
images NHWC -> NCHW, mean and standard deviation broadcast, 4x4 patches to channels, the channels split in two
branches and joined again, then the channel shuffle, forward and backward, by both implementations. What lies
between in a network, the convolutions, is arithmetic and left out.

Prints a table and writes channels.png. Exits with 1 when any result differs from NumPy's in a single bit.
"""

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib import cbook, image
from matplotlib.figure import Figure

import dnnmove as dm

SIZE = 224  # pixels, of a square crop
PATCH = 4  # pixels; a patch of 4 x 4 x 3 becomes 48 channels
CHANNELS = 3 * PATCH * PATCH
BRANCH = CHANNELS // 2
MEAN = np.array([0.485, 0.456, 0.406], np.float32)
DEVIATION = np.array([0.229, 0.224, 0.225], np.float32)


@dataclass
class Row:
    """One line of the table."""

    operation: str
    shapes: str
    layout: str
    implementation: str
    seconds: float
    bytes_moved: int  # read and written
    of_memcpy: float
    exact: bool

    def __str__(self) -> str:
        return (
            f"{self.operation:<17} {self.shapes:<44} {self.layout:<10} {self.implementation:<20} "
            f"{self.seconds * 1e3:8.3f} {self.bytes_moved / self.seconds / 1e9:7.1f} {self.of_memcpy:9.2f}  "
            f"{'exact' if self.exact else 'DIFFERS'}"
        )


HEADER = (
    f"{'operation':<17} {'shapes':<44} {'layout':<10} {'implementation':<20} "
    f"{'ms':>8} {'GB/s':>7} {'of memcpy':>9}  against NumPy"
)


class Memcpy:
    """The yardstick: a plain copy between ready buffers, in as many threads as dnnmove uses."""

    def __init__(self) -> None:
        self.threads = dm.get_num_threads()
        self.pool = ThreadPoolExecutor(self.threads)
        self.buffers: dict[int, tuple[list[np.ndarray], list[np.ndarray]]] = {}

    def __call__(self, size: int) -> None:
        """Copy `size` bytes."""
        if size not in self.buffers:
            source, target = np.ones(size, np.uint8), np.zeros(size, np.uint8)
            self.buffers[size] = np.array_split(source, self.threads), np.array_split(target, self.threads)
        sources, targets = self.buffers[size]
        list(self.pool.map(np.copyto, targets, sources))


class Table:
    """Measures what it is given, in turns with memcpy, and prints a row for each."""

    def __init__(self, rounds: int) -> None:
        self.rounds = rounds
        self.memcpy = Memcpy()
        self.rows: list[Row] = []
        print(HEADER)
        print("-" * len(HEADER))

    def add(
        self,
        operation: str,
        layout: str,
        implementation: str,
        run: Callable[[], object],
        inputs: Sequence[np.ndarray],
        outputs: Sequence[np.ndarray],
        expected: Sequence[np.ndarray],
    ) -> None:
        """Run it once for the result, then several times for the clock."""
        for output in outputs:
            output[...] = 77  # what a run that writes nothing would leave
        run()
        exact = all(same_bits(*pair) for pair in zip(outputs, expected, strict=True))
        written = sum(output.nbytes for output in outputs)
        read = sum(array.nbytes for array in inputs)
        ours, theirs = [], []
        for _ in range(self.rounds):
            ours.append(seconds(run))
            theirs.append(seconds(lambda: self.memcpy((read + written) // 2)))
        shapes = f"{text_of(inputs)} -> {text_of(outputs)}"
        best = min(ours)
        row = Row(operation, shapes, layout, implementation, best, read + written, min(theirs) / best, exact)
        self.rows.append(row)
        print(row, flush=True)


def seconds(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def same_bits(a: np.ndarray, b: np.ndarray) -> bool:
    a, b = np.ascontiguousarray(a), np.ascontiguousarray(b)
    return a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()


def text_of(arrays: Sequence[np.ndarray]) -> str:
    names = ["(" + ",".join(map(str, array.shape)) + ")" for array in arrays]
    return names[0] if len(set(names)) == 1 and len(names) == 1 else f"{len(names)} x {names[0]}"


def photograph() -> np.ndarray:
    """Rows of RGB pixels, uint8."""
    with cbook.get_sample_data("grace_hopper.jpg") as file:
        return np.asarray(image.imread(file, format="jpg"))


def crops(photo: np.ndarray, count: int) -> np.ndarray:
    """`count` random crops, every second one mirrored: (count, SIZE, SIZE, 3)."""
    random = np.random.default_rng(7)
    rows = random.integers(0, photo.shape[0] - SIZE, count)
    columns = random.integers(0, photo.shape[1] - SIZE, count)
    rows[0], columns[0] = 45, 150  # the face: the picture that the drawing takes apart
    batch = np.stack([photo[r : r + SIZE, c : c + SIZE] for r, c in zip(rows, columns, strict=True)])
    batch[1::2] = batch[1::2, :, ::-1].copy()
    return batch


def transpose(table: Table, stream: dm.Stream, x: np.ndarray, order: tuple[int, ...], name: str) -> np.ndarray:
    desc = dm.Transpose.Desc(dm.MemoryDesc(x.shape, x.dtype), input_order=order)
    primitive = dm.Transpose(desc)
    y = np.empty(desc.dst_desc.dims, x.dtype)
    table.add(
        "Transpose",
        name,
        primitive.impl_info_str,
        lambda: primitive.execute(stream, {dm.ARG_SRC: x, dm.ARG_DST: y}),
        [x],
        [y],
        [x.transpose(order)],
    )
    return y


def broadcast(table: Table, stream: dm.Stream, x: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    desc = dm.Broadcast.Desc(dm.MemoryDesc(x.shape, x.dtype), shape, axes_mapping=[1], mode="explicit")
    primitive = dm.Broadcast(desc)
    y = np.empty(shape, x.dtype)
    table.add(
        "Broadcast",
        "nchw",
        primitive.impl_info_str,
        lambda: primitive.execute(stream, {dm.ARG_SRC: x, dm.ARG_DST: y}),
        [x],
        [y],
        [np.broadcast_to(x.reshape(1, -1, 1, 1), shape)],
    )
    return y


def split(table: Table, stream: dm.Stream, x: np.ndarray) -> list[np.ndarray]:
    desc = dm.VariadicSplit.Desc(dm.MemoryDesc(x.shape, x.dtype), axis=1, split_lengths=[BRANCH, -1])
    primitive = dm.VariadicSplit(desc)
    branches = [np.empty(branch.dims, x.dtype) for branch in desc.dst_descs]
    arguments = {dm.ARG_SRC: x, **{dm.ARG_MULTIPLE_DST + i: branch for i, branch in enumerate(branches)}}
    table.add(
        "VariadicSplit",
        "nchw",
        primitive.impl_info_str,
        lambda: primitive.execute(stream, arguments),
        [x],
        branches,
        np.split(x, 2, axis=1),
    )
    return branches


def shuffle(table: Table, engine: dm.Engine, stream: dm.Stream, x: np.ndarray, tag: str) -> np.ndarray:
    """Forward, then backward, by each implementation, in the layout `tag`. Returns the shuffled channels."""
    md = dm.MemoryDesc(x.shape, x.dtype, tag)
    forward_desc = dm.ShuffleForward.Desc(dm.PropKind.forward_training, md, axis=1, group_size=BRANCH)
    backward_desc = dm.ShuffleBackward.Desc(md, axis=1, group_size=BRANCH)
    n, _, h, w = x.shape
    shuffled = x.reshape(n, CHANNELS // BRANCH, BRANCH, h, w).swapaxes(1, 2).reshape(x.shape)
    src, dst, back = (dm.Memory(md, engine) for _ in range(3))
    src.numpy()[...] = x
    layout = f"{tag} {x.dtype.str[1:]}"
    for implementation in ("native", "onednn"):
        forward_pd = dm.ShuffleForward.PrimitiveDesc(forward_desc, engine, implementation=implementation)
        backward_pd = dm.ShuffleBackward.PrimitiveDesc(
            backward_desc, engine, hint_fwd_pd=forward_pd, implementation=implementation
        )
        forward, backward = dm.ShuffleForward(forward_pd), dm.ShuffleBackward(backward_pd)

        def run_forward(forward=forward) -> None:
            forward.execute(stream, {dm.ARG_SRC: src, dm.ARG_DST: dst})
            stream.wait()

        def run_backward(backward=backward) -> None:
            backward.execute(stream, {dm.ARG_DIFF_DST: dst, dm.ARG_DIFF_SRC: back})
            stream.wait()

        name = forward_pd.impl_info_str
        table.add("ShuffleForward", layout, name, run_forward, [src.numpy()], [dst.numpy()], [shuffled])
        name = backward_pd.impl_info_str
        table.add("ShuffleBackward", layout, name, run_backward, [dst.numpy()], [back.numpy()], [x])
    return dst.numpy()


def draw(path: Path, photo: np.ndarray, batch: np.ndarray, before: np.ndarray, after: np.ndarray) -> None:
    """The photograph, some crops, and one image's channels before and after the shuffle."""
    per_row = BRANCH
    frames = ("#1f77b4", "#ff7f0e")
    figure = Figure(figsize=(18, 8.4), layout="constrained")
    figure.get_layout_engine().set(hspace=0, h_pad=0.02, w_pad=0.05)
    top, middle, bottom = figure.subfigures(3, 1, height_ratios=[3.3, 2.2, 2.2])

    shown = min(5, len(batch))
    axes = top.subplots(1, 1 + shown, width_ratios=[photo.shape[1] / photo.shape[0], *[1] * shown])
    for axis, picture, title in zip(
        axes, [photo, *batch], ["photograph", *(f"image {i} of the batch" for i in range(shown))], strict=False
    ):
        axis.imshow(picture)
        axis.set_title(title, fontsize=10)
        axis.axis("off")

    order = np.arange(CHANNELS).reshape(CHANNELS // BRANCH, BRANCH).T.ravel()
    low, high = before.min(), before.max()
    for part, channels, sources, title in (
        (middle, before, np.arange(CHANNELS), "before: channels of branch 1 (blue frames), then of branch 2 (orange)"),
        (bottom, after, order, f"after ShuffleForward(axis=1, group_size={BRANCH}): the branches alternate"),
    ):
        part.suptitle(title, fontsize=12, x=0.005, ha="left")
        for axis, plane, source in zip(
            part.subplots(CHANNELS // per_row, per_row).flat, channels, sources, strict=True
        ):
            tinted = np.zeros((*plane.shape, 3))
            tinted[..., :] = 0.3 * ((plane - low) / (high - low))[..., None]
            tinted[..., source // (PATCH * PATCH)] = (plane - low) / (high - low)  # its colour in the photograph
            axis.imshow(tinted)
            axis.set_title(str(source), fontsize=8, pad=2)
            axis.set(xticks=[], yticks=[])
            for spine in axis.spines.values():
                spine.set(color=frames[source // BRANCH], linewidth=3)
    figure.savefig(path, dpi=110)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a small batch and few rounds")
    parser.add_argument("--out", type=Path, default=Path("demo_out"), help="folder for channels.png")
    arguments = parser.parse_args()

    photo = photograph()
    batch = crops(photo, 4 if arguments.quick else 64)
    n = len(batch)
    engine = dm.Engine("cpu")
    stream = dm.Stream(engine)
    print(
        f"dnnmove {dm.__version__}, oneDNN {dm.onednn_version()}, {dm.build_info()['isa']}, "
        f"{dm.get_num_threads()} threads; photograph of {photo.shape[1]} x {photo.shape[0]} pixels, batch of {n}\n"
    )
    table = Table(rounds=3 if arguments.quick else 30)

    planes = transpose(table, stream, batch, (0, 3, 1, 2), "nhwc->nchw")
    mean = broadcast(table, stream, MEAN, planes.shape)
    deviation = broadcast(table, stream, DEVIATION, planes.shape)
    normal = (planes / np.float32(255) - mean) / deviation

    side = SIZE // PATCH
    patches = normal.reshape(n, 3, side, PATCH, side, PATCH)
    channels = transpose(table, stream, patches, (0, 1, 3, 5, 2, 4), "patches").reshape(n, CHANNELS, side, side)
    branches = split(table, stream, channels)
    joined = dm.concat(branches, axis=1)

    after = shuffle(table, engine, stream, joined, "nchw")
    shuffle(table, engine, stream, joined, "nhwc")
    quantised = np.clip(np.rint(joined * 40), -128, 127).astype(np.int8)
    shuffle(table, engine, stream, quantised, "nchw")
    shuffle(table, engine, stream, quantised, "nhwc")

    arguments.out.mkdir(parents=True, exist_ok=True)
    path = arguments.out / "channels.png"
    draw(path, photo, batch, joined[0], after[0])
    wrong = sum(not row.exact for row in table.rows)
    print(f"\nof memcpy: {table.memcpy.threads} threads copying as many bytes, best of {table.rounds} rounds each")
    print(f"{len(table.rows) - wrong} of {len(table.rows)} results are exact; the channels are drawn in {path}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
