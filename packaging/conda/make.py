"""Builds the recipe against the local channel, installs the package into an empty prefix and tries it there.

Leaves `dnnmove-VERSION-BUILD.conda` in the output's folder linux-64. Stops at the first step that fails.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import channel
import machine
import rattler
import rattler_build
import wheels
from rattler.virtual_package import VirtualPackage

ROOT = Path(__file__).resolve().parent.parent.parent
HERE = Path(__file__).resolve().parent
# What the prefix gets: the package, and what its tests and the demo need.
INSTALL = ["dnnmove", "hypothesis", "matplotlib-base", "packaging", "pillow", "pip", "pytest", "pytest-xdist", "pyyaml"]


def say(text: str) -> None:
    print(f"\n=== {time.strftime('%H:%M:%S')} {text}", flush=True)


def sdist(folder: Path) -> Path:
    """The source archive of this tree."""
    shutil.rmtree(folder, ignore_errors=True)
    command = [sys.executable, "-m", "build", "--sdist", "--outdir", folder, ROOT]
    subprocess.run(command, check=True, env={**os.environ, "DNNMOVE_SYSTEM_ONEDNN": "1"}, stdout=subprocess.DEVNULL)
    (archive,) = folder.glob("*.tar.gz")
    return archive


def build(archive: Path, channel: Path, output: Path) -> tuple[Path, list[str]]:
    """Run rattler-build on the recipe, its tests included; the package's file, and what rattler-build warned of."""
    here = {
        "python": f"{wheels.PYTHON}.* *_{machine.BUILD}",
        "cxx_compiler_version": machine.gcc_version().partition(".")[0],
        "c_stdlib_version": machine.glibc_version(),
        "local_sdist": str(archive),
    }
    variants = archive.parent / "variants.yaml"
    variants.write_text("".join(f'{name}: ["{value}"]\n' for name, value in here.items()))
    pinning = rattler_build.VariantConfig.from_files([HERE / "pinning.yaml", variants])
    rendered = rattler_build.Stage0Recipe.from_file(ROOT / "recipe" / "recipe.yaml").render(pinning)
    (variant,) = rendered
    shutil.rmtree(output, ignore_errors=True)
    log = Log()
    result = variant.run_build(
        tool_config=rattler_build.ToolConfiguration(test_strategy="native"),
        output_dir=output,
        channels=[channel.as_uri()],
        progress_callback=log,
        no_build_id=True,
    )
    (path,) = result.packages
    return Path(path), log.warnings


class Log:
    """Prints what rattler-build says, and keeps its warnings."""

    def __init__(self) -> None:
        self.warnings: list[str] = []

    def on_log(self, event: rattler_build.progress.LogEvent) -> None:
        print(event.message, flush=True)
        if event.level in ("warn", "error"):
            self.warnings.append(event.message)

    def on_download_start(self, event: object) -> None: ...
    def on_download_progress(self, event: object) -> None: ...
    def on_download_complete(self, event: object) -> None: ...
    def on_build_step(self, event: object) -> None: ...


async def install(channels: list[Path], prefix: Path, cache: Path) -> None:
    """Solve for what is to be installed and install it into an empty prefix."""
    found = await rattler.solve(
        [folder.as_uri() for folder in channels],
        INSTALL,
        platforms=["linux-64", "noarch"],
        virtual_packages=VirtualPackage.detect(),
    )
    for record in sorted(found, key=lambda record: record.name.normalized):
        print(f"{record.name.normalized:24}{record.version!s:12}{record.build}")
    shutil.rmtree(prefix, ignore_errors=True)
    await rattler.install(found, prefix, cache_dir=cache, show_progress=False)


def try_it(prefix: Path, folder: Path) -> None:
    """Run `pip check`, the demo and the tests with the prefix's Python, away from the source tree.

    All tests but those of what no package of the prefix brings (torch, OpenVINO, dask ...), which skip themselves.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))},
        "PATH": f"{prefix}/bin{os.pathsep}/usr/bin{os.pathsep}/bin",
        "DNNMOVE_TEST_PROFILE": "quick",
        # A pass that scripts/run_tests.py --ci leaves to this; where there is no AVX-512, the best that there is.
        "DNNMOVE_ISA": "avx512",
        "OMP_NUM_THREADS": "1",
    }
    for command in (
        ["pip", "check"],
        ["python", ROOT / "examples" / "demo.py", "--quick"],
        ["pytest", "-q", "-n", "2", "-p", "no:cacheprovider", "-rfE", ROOT / "tests"],
    ):
        say(f"in the prefix: {' '.join(map(str, command))}")
        subprocess.run([prefix / "bin" / str(command[0]), *command[1:]], check=True, env=environment, cwd=folder)


def inspect(folder: Path) -> None:
    """Run the tests of the package's files and metadata."""
    say("the package's files and metadata")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", HERE / "test_package.py"]
    subprocess.run(command, check=True, env={**os.environ, "DNNMOVE_CONDA_FOLDER": str(folder)}, cwd=HERE)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "conda", help="where everything goes")
    parser.add_argument("--onednn", type=Path, metavar="PREFIX", help="an installed oneDNN instead of the wheels'")
    parser.add_argument("--lto", action="store_true", help="optimise at link time")
    arguments = parser.parse_args()
    folder = arguments.folder.resolve()
    say("the local channel")
    local = channel.make(folder, arguments.onednn, arguments.lto)
    say("the source archive")
    archive = sdist(folder / "sdist")
    print(archive.name, *subprocess.check_output(["sha256sum", archive], text=True).split()[:1])
    say("rattler-build on recipe/recipe.yaml")
    package, warnings = build(archive, local, folder / "output")
    say(f"{package.name} into an empty prefix")
    asyncio.run(install([folder / "output", local], folder / "prefix", folder / "cache"))
    inspect(folder)
    try_it(folder / "prefix", folder / "trial")
    say(f"{package} is built, installed and tested")
    if warnings:
        raise SystemExit("rattler-build warned:\n" + "\n".join(warnings))
    print("rattler-build had nothing to warn of")


if __name__ == "__main__":
    main()
