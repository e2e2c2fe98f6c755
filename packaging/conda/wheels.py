"""Packages of the local channel made from wheels: their files, and their metadata as conda spells it."""

from __future__ import annotations

import configparser
import email
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

from package import Package
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name, parse_wheel_filename

PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
SITE_PACKAGES = f"lib/python{PYTHON}/site-packages"
# Where conda-forge's name is not the wheel's.
CONDA_NAMES = {"matplotlib": "matplotlib-base", "ml-dtypes": "ml_dtypes", "tzdata": "python-tzdata"}
# What the wheel has and conda-forge's package takes from packages of their own.
BUNDLES = {
    "numpy": "its OpenBLAS is inside, not libblas",
    "matplotlib-base": "its FreeType and Qhull are inside",
    "pillow": "its image libraries are inside",
    "pyyaml": "its libyaml is inside",
    "pybind11": "its headers are inside, not in pybind11-global",
    "cmake": "its libraries are inside; without the manual",
}
# As of NumPy 2.0: what an extension built with it runs on.
RUN_EXPORTS = {"numpy": {"weak": ["numpy >=1.23,<3"]}}


def conda_name(name: str) -> str:
    """conda-forge's name of what pip calls `name`."""
    name = canonicalize_name(name)
    return CONDA_NAMES.get(name, name)


def conda_spec(requirement: Requirement) -> str:
    """A requirement in conda's words."""
    versions = re.sub(r"\s", "", str(requirement.specifier))
    return f"{conda_name(requirement.name)} {versions}".strip()


def download(requirements: list[str], folder: Path) -> list[Path]:
    """The wheels that pip takes for these requirements and for what they require."""
    folder.mkdir(parents=True, exist_ok=True)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    subprocess.run([*pip, "download", "--only-binary=:all:", "--dest", folder, *requirements], check=True)
    return sorted(folder.glob("*.whl"))


def unpack(wheel: Path, folder: Path, site_packages: str = SITE_PACKAGES) -> None:
    """A wheel's files into `folder`, laid out as in an environment."""
    shutil.rmtree(folder, ignore_errors=True)
    with zipfile.ZipFile(wheel) as archive:
        for entry in archive.infolist():
            if entry.is_dir():
                continue
            data = re.fullmatch(r"[^/]+\.data/(\w+)/(.+)", entry.filename)
            places = {"scripts": "bin", "data": "", "headers": "include", "purelib": site_packages}
            places["platlib"] = site_packages
            place = f"{places[data[1]]}/{data[2]}" if data else f"{site_packages}/{entry.filename}"
            target = folder / place.lstrip("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(archive.read(entry))
            runs = bool(entry.external_attr >> 16 & 0o111) or bool(data and data[1] == "scripts")
            target.chmod(0o755 if runs else 0o644)


def entry_points(dist_info: Path) -> list[str]:
    """The wheel's commands, as `name = module:function`."""
    parser = configparser.ConfigParser(delimiters=["="])
    parser.optionxform = str  # type: ignore[assignment]
    parser.read(dist_info / "entry_points.txt")
    return (
        [f"{name} = {target}" for name, target in parser.items("console_scripts")]
        if "console_scripts" in parser
        else []
    )


def write_commands(files: Path, commands: list[str]) -> list[str]:
    """Programs in bin/ for a package that is not noarch; returns the shell lines that lead them to their Python."""
    lines = []
    for command in commands:
        name, module, function = re.fullmatch(r"(\S+) = ([\w.]+):([\w.]+)", command).groups()  # type: ignore[union-attr]
        program = files / "bin" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(
            f"#!PREFIX/bin/python\nimport sys\nfrom {module} import {function}\n\nsys.exit({function}())\n"
        )
        program.chmod(0o755)
        lines.append(f'sed -i "1s|PREFIX|$PREFIX|" "$PREFIX/bin/{name}"')
    return lines


def package(wheel: Path, stage: Path) -> Package:
    """The wheel as a conda package."""
    name, version, _, tags = parse_wheel_filename(wheel.name)
    files = stage / name
    unpack(wheel, files)
    (dist_info,) = (files / SITE_PACKAGES).glob("*.dist-info")
    metadata = email.message_from_string((dist_info / "METADATA").read_text())
    (dist_info / "INSTALLER").write_text("conda\n")
    requirements = map(Requirement, metadata.get_all("Requires-Dist", []))
    depends = [conda_spec(r) for r in requirements if r.marker is None or r.marker.evaluate({"extra": ""})]
    pure = all(tag.platform == "any" for tag in tags)
    script: list[str] = []
    if name in PROGRAMS:
        PROGRAMS[name](files)
        python, commands = [], []
    elif pure:
        python, commands = [f"python {metadata['Requires-Python'] or '>=3'}"], entry_points(dist_info)
    else:
        major, minor = PYTHON.split(".")
        python = [f"python >={PYTHON},<{major}.{int(minor) + 1}.0a0", f"python_abi {PYTHON}.* *_cp{major}{minor}"]
        commands = []
        script = write_commands(files, entry_points(dist_info))
    conda = conda_name(name)
    return Package(
        conda,
        str(version),
        files,
        f"the wheel {wheel.name}",
        stands_in=BUNDLES.get(conda, ""),
        depends=[*python, *depends],
        run_exports=RUN_EXPORTS.get(conda, {}),
        noarch="python" if pure and name not in PROGRAMS else None,
        entry_points=commands,
        script=script,
    )


def cmake(files: Path) -> None:
    """Leave of CMake's wheel what is no Python, where it belongs."""
    data = files / SITE_PACKAGES / "cmake" / "data"
    shutil.rmtree(data / "doc")
    for part in data.iterdir():
        shutil.move(part, files / part.name)
    shutil.rmtree(files / "lib")


def ninja(files: Path) -> None:
    """Leave of Ninja's wheel the program."""
    shutil.rmtree(files / "lib")


PROGRAMS = {"cmake": cmake, "ninja": ninja}
