"""``dnnmove run``: a model on arrays in files, which may be larger than memory."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import click

import dnnmove as dm
from dnnmove._cli.npy import load, writing

__all__ = ["run"]

FILE = click.Path(path_type=Path, readable=False)  # what cannot be read is an error, not wrong usage


@contextlib.contextmanager
def _signals_unwind() -> Iterator[None]:
    """SIGTERM and SIGHUP end the command as an error does, so that nothing half-written stays."""

    def stop(number: int, frame: FrameType | None) -> None:
        sys.exit(128 + number)

    previous = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


@click.command()
@click.argument("model", type=FILE)
@click.option(
    "-i", "--input", "inputs", type=FILE, multiple=True, help="A .npy file; one for each Parameter, in order."
)
@click.option(
    "-o",
    "--output",
    "outputs",
    type=FILE,
    multiple=True,
    help="The .npy file to write; one for each Result, in order.",
)
@click.option("--weights", type=FILE, help="The .bin file.  [default: beside MODEL]")
@click.option("--slab", default=64, show_default=True, type=click.IntRange(1), help="MiB that are written in one go.")
@click.option("--threads", type=click.IntRange(1), help="Threads to use.  [default: as dnnmove info says]")
@click.option("--progress/--no-progress", default=None, help="A progress bar.  [default: on a terminal]")
def run(
    model: Path,
    inputs: tuple[Path, ...],
    outputs: tuple[Path, ...],
    weights: Path | None,
    slab: int,
    threads: int | None,
    progress: bool | None,
) -> None:
    """Run MODEL, an OpenVINO IR (.xml) of pure data movement, on arrays in .npy files.

    Inputs are mapped into memory, and results written straight into mapped files, a slab at a time: arrays may be
    larger than memory. A result appears under its name when all are complete, or not at all.

    \b
    Examples:
      dnnmove run model.xml -i x.npy -o y.npy
      dnnmove run split.xml -i images.npy -o left.npy -o right.npy --slab 256
    """
    from dnnmove import ir
    from dnnmove.ir._slabs import Slabs

    read = ir.read_model(model, weights)
    for given, ports, option in ((inputs, read.inputs, "-i"), (outputs, read.outputs, "-o")):
        if len(given) != len(ports):
            names = ", ".join(map(str, ports[:6])) + (" ..." if len(ports) > 6 else "")
            raise click.UsageError(f"{option} must be given {len(ports)} times, not {len(given)}: {names or 'none'}")
    if len({os.path.realpath(path) for path in outputs}) < len(outputs):
        raise click.UsageError("-o must name different files")
    arrays = [load(path, port.dtype) for path, port in zip(inputs, read.inputs, strict=True)]
    job = Slabs(read, arrays)
    context: Any = dm.num_threads(threads) if threads else contextlib.nullcontext()
    with _signals_unwind(), context, writing(list(outputs), job.shapes, job.dtypes) as places:
        total = sum(place.nbytes for place in places)
        shown = progress
        if shown is None:  # there is no standard error where the caller closed it
            shown = sys.stderr is not None and sys.stderr.isatty()
        if shown:
            with click.progressbar(length=total, label="dnnmove run", file=sys.stderr) as bar:
                job.run(places, slab << 20, bar.update)
        else:
            job.run(places, slab << 20, lambda _: None)
