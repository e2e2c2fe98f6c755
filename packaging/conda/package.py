"""What one package of the local channel is, and how rattler-build makes it from a folder of files."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from pathlib import Path

import rattler_build

COMPRESSION = "conda:1"  # the channel is read once, from this disk


@dataclass
class Package:
    """A package to be made: its files lie in `files` as they are to lie in an environment."""

    name: str  # conda-forge's name
    version: str
    files: Path | None  # None: the package has no files
    origin: str  # where the files come from, for the log
    stands_in: str = ""  # what of conda-forge's package this one has not; empty: it is whole
    depends: list[str] = field(default_factory=list)
    constrains: list[str] = field(default_factory=list)
    run_exports: dict[str, list[str]] = field(default_factory=dict)
    build: str | None = None  # the build string; None: rattler-build's own
    noarch: str | None = None
    entry_points: list[str] = field(default_factory=list)
    script: list[str] = field(default_factory=list)  # shell lines that run once the files are in $PREFIX
    license: str = ""
    relocate: bool = False  # whether RPATHs are rewritten

    def recipe(self) -> dict[str, object]:
        """The package as a recipe."""
        copy = [] if self.files is None else [f'cp -a {shlex.quote(str(self.files))}/. "$PREFIX"/']
        build: dict[str, object] = {"number": 0, "script": {"content": ["set -eu", *copy, *self.script]}}
        if self.build:
            build["string"] = self.build
        if self.noarch:
            build["noarch"] = self.noarch
        else:
            build["dynamic_linking"] = {"binary_relocation": self.relocate}
        # Modules are compiled when they are first imported: rattler-build compiles each on its own, for minutes.
        build["python"] = {"skip_pyc_compilation": ["**/*.py"], "entry_points": self.entry_points}
        return {
            "package": {"name": self.name, "version": self.version},
            "build": build,
            "requirements": {
                "run": self.depends,
                "run_constraints": self.constrains,
                "run_exports": self.run_exports,
            },
            "about": {"summary": self.origin, **({"license": self.license} if self.license else {})},
        }

    def make(self, channel: Path) -> Path:
        """Make the package and enter it in the channel's index."""
        (variant,) = rattler_build.Stage0Recipe.from_dict(self.recipe()).render(rattler_build.VariantConfig())
        result = variant.run_build(
            tool_config=rattler_build.ToolConfiguration(test_strategy="skip"),
            output_dir=channel,
            channels=[],
            no_build_id=True,
            no_include_recipe=True,
            package_format=COMPRESSION,
        )
        (path,) = result.packages
        return Path(path)
