"""The commands of the command line; the only part of the package that imports click."""

from dnnmove._cli.group import cli

__all__ = ["cli"]
