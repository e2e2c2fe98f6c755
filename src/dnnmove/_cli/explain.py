"""``dnnmove explain``: how an operation or a chain of them would run."""

from __future__ import annotations

from pathlib import Path

import click

import dnnmove as dm
from dnnmove._cli.steps import read_array, read_step, taken

__all__ = ["explain"]


@click.command()
@click.argument("array")
@click.argument("steps", metavar="STEP...", nargs=-1, required=True)
@click.option("--svg", type=click.Path(path_type=Path), help="Also draw the chain into this file.")
def explain(array: str, steps: tuple[str, ...], svg: Path | None) -> None:
    """Tell how a chain of steps runs on an array.

    ARRAY is a shape and a dtype, and perhaps a layout: a format tag of oneDNN or strides in elements. Each STEP is a
    method of dnnmove.Chain with its arguments, or index[...]; docs/explain.md reads the answer.

    \b
    Examples:
      dnnmove explain "(1,58,28,28) float32" "shuffle_channels(axis=1, group=2)" "transpose((0,2,3,1))"
      dnnmove explain "(8,224,224,3) uint8" "rearrange('n h w c -> n c h w')"
      dnnmove explain "(8,64,56,56) bfloat16 nhwc" "split(1, 2)" "branch(0)" "index[:, ::-1]"
      dnnmove explain "(64,1000) float32" "transpose()" --svg chain.svg
    """
    desc = read_array(array)
    read = [read_step(step) for step in steps]
    built = taken(dm.Chain(desc), read).build()
    if svg is not None:
        built.draw(svg)
    click.echo(built.explain().rstrip())
