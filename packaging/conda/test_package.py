"""The conda package that make.py built: its files, its metadata, and how it finds oneDNN in the prefix."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
import rattler_build

FOLDER = Path(os.environ["DNNMOVE_CONDA_FOLDER"])
ROOT = Path(__file__).resolve().parent.parent.parent
PREFIX = FOLDER / "prefix"


@pytest.fixture(scope="module")
def package():
    (path,) = (FOLDER / "output" / "linux-64").glob("dnnmove-*.conda")
    return rattler_build.Package.from_file(path)


@pytest.fixture(scope="module")
def core():
    (path,) = PREFIX.glob("lib/python3.*/site-packages/dnnmove/_core*.so")
    return path


def read(path, option):
    return subprocess.check_output(["patchelf", option, path], text=True).split()


def test_it_holds_the_package_and_nothing_else(package):
    (site_packages,) = {
        re.match(r"lib/python3\.\d+/site-packages/", f)[0] for f in package.files if f.startswith("lib/")
    }
    found = {f.removeprefix(site_packages) for f in package.files if f.startswith(site_packages)}
    others = set(package.files) - {site_packages + f for f in found}
    # rattler-build keeps the files of the recipe's tests in the package.
    assert {f for f in others if not f.startswith("etc/conda/test-files/dnnmove/")} == {"bin/dnnmove"}
    sources = {str(path.relative_to(ROOT / "src")) for path in (ROOT / "src" / "dnnmove").rglob("*.*")}
    sources = {f for f in sources if f.endswith((".py", ".pyi", ".typed", ".cpp", ".h"))}
    info = {f for f in found if ".dist-info/" in f}
    assert {"INSTALLER", "METADATA", "entry_points.txt"} <= {Path(f).name for f in info}
    built = {f for f in found if re.fullmatch(r"dnnmove/_core\.cpython-\d+-x86_64-linux-gnu\.so", f)}
    compiled = {f for f in found if f.endswith(".pyc")}
    assert len(built) == 1
    assert found - info - built - compiled == sources


def test_it_depends_on_what_it_runs_on(package):
    names = {}
    for entry in package.depends:
        name, _, versions = entry.partition(" ")
        names.setdefault(name, []).append(versions)
    assert set(names) == {
        *{"__glibc", "_openmp_mutex", "libgcc", "libstdcxx"},  # of the compilers and libgomp
        *{"ml_dtypes", "numpy", "onednn", "python", "python_abi"},
    }
    assert {">=3.2,<4 omp_*", ">=3.2,<4.0a0"} == set(names["onednn"]) or any("omp_" in v for v in names["onednn"])
    assert any(versions.startswith(">=1.2") and "<3" in versions for versions in names["numpy"])


def test_pip_knows_of_no_onednn(core):
    (metadata,) = core.parent.parent.glob("dnnmove-*.dist-info/METADATA")
    requirements = re.findall(r"^Requires-Dist: (.*)$", metadata.read_text(), re.MULTILINE)
    assert [r for r in requirements if "extra ==" not in r] == ["numpy>=1.26", "ml_dtypes>=0.4"]
    assert "onednn" not in " ".join(requirements).lower()
    pip = subprocess.check_output([PREFIX / "bin" / "pip", "list", "--format=json"], text=True)
    assert not [entry["name"] for entry in json.loads(pip) if "onednn" in entry["name"].lower()]


def test_its_rpath_leads_to_the_libraries_of_the_prefix(core):
    assert "libdnnl.so.3" in read(core, "--print-needed")
    folders = [Path(p.replace("$ORIGIN", str(core.parent))) for p in read(core, "--print-rpath")[0].split(":")]
    assert (PREFIX / "lib").resolve() in {folder.resolve() for folder in folders}
    assert all(PREFIX.resolve() in folder.resolve().parents for folder in folders)


def test_the_prefixes_onednn_is_the_one_that_runs():
    program = (
        "import dnnmove; print([l.split()[-1] for l in open('/proc/self/maps') if 'libdnnl' in l or 'libgomp' in l])"
    )
    environment = {"PATH": "/usr/bin:/bin"}  # not even LD_LIBRARY_PATH
    found = subprocess.check_output([PREFIX / "bin" / "python", "-I", "-c", program], text=True, env=environment)
    libraries = set(re.findall(r"'([^']+/lib(?:dnnl|gomp)\.[^']+)'", found))
    assert {Path(library).name.split(".")[0] for library in libraries} == {"libdnnl", "libgomp"}
    assert all(Path(library).is_relative_to(PREFIX) for library in libraries), libraries
