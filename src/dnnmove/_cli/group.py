"""The group of the commands: what is common to them is how they fail."""

from __future__ import annotations

import importlib
from typing import Any

import click

import dnnmove as dm

__all__ = ["cli", "one_line"]

COMMANDS = ("bench", "explain", "info", "run")


def one_line(error: BaseException) -> str:
    """An error for people: its message alone, on one line."""
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        text = f"{error.filename}: {error.strerror}"
    elif isinstance(error, MemoryError) and not str(error):
        text = "out of memory"
    else:
        text = str(error) or type(error).__name__
    return " ".join(text.split())


class Commands(click.Group):
    """Commands that are imported when they are called for, and whose errors take one line."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        command: click.Command = getattr(importlib.import_module(f"dnnmove._cli.{name}"), name)
        return command

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command: exit code 1 for an error, 130 for Ctrl-C; click has 2 for wrong usage."""
        try:
            return super().invoke(ctx)
        except (BrokenPipeError, click.exceptions.Exit):  # whoever read our output has gone: click exits with 1 as well
            raise
        except (KeyboardInterrupt, click.Abort):
            click.echo("dnnmove: interrupted", err=True)
            ctx.exit(130)
        except (OSError, ValueError, TypeError, IndexError, MemoryError, ImportError, RuntimeError) as error:
            raise click.ClickException(one_line(error)) from None


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(dm.__version__, prog_name="dnnmove")
def cli() -> None:
    """Data movement of deep-learning inference engines, at the speed of memory.

    \b
    Examples:
      dnnmove info
      dnnmove run model.xml -i x.npy -o y.npy
      dnnmove explain "(1,58,28,28) float32" "shuffle_channels(axis=1, group=2)" "transpose((0,2,3,1))"
      dnnmove bench "(32,58,56,56) float32" "transpose((0,2,3,1))"
    """
