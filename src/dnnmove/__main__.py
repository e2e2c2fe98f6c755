"""The command line: ``dnnmove`` and ``python -m dnnmove``."""

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command that the arguments name; ends the process."""
    try:
        try:
            import click  # noqa: F401
        except ImportError:
            sys.exit("dnnmove: the command line needs click: pip install dnnmove[cli]")
        from dnnmove._cli import cli

        cli(prog_name="dnnmove")
    except KeyboardInterrupt:  # before click was in charge
        sys.exit(130)


if __name__ == "__main__":
    main()
