"""The package as it is installed, and that pyproject.toml, the conda recipe and environment.yml agree."""

import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

import dnnmove

ROOT = Path(__file__).resolve().parent.parent
CONDA_NAMES = {"dask": "dask-core", "matplotlib": "matplotlib-base", "torch": "pytorch-cpu"}


@pytest.fixture(scope="module")
def pyproject():
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


@pytest.fixture(scope="module")
def recipe():
    """recipe.yaml with the variables of its context filled in where they are plain names."""
    text = (ROOT / "recipe" / "recipe.yaml").read_text()
    for name, value in yaml.safe_load(text)["context"].items():
        text = text.replace("${{ " + name + " }}", value)
    return yaml.safe_load(text)


@pytest.fixture(scope="module")
def environment():
    return dict(map(conda_spec, yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"]))


def conda_spec(text):
    """Name, and what follows it: versions and build string."""
    name, _, rest = text.partition(" ")
    return name, rest


def conda_specs(entries):
    return dict(conda_spec(entry) for entry in entries if isinstance(entry, str) and "${{" not in entry)


def pip_specs(entries):
    return {CONDA_NAMES.get(r.name, r.name): r.specifier for r in map(Requirement, entries)}


def dynamic_table(pyproject):
    (table,) = pyproject["tool"]["dynamic-metadata"]
    return table


@pytest.fixture
def installed():
    """The metadata pip wrote; a package run from a build tree has none."""
    try:
        return importlib.metadata.distribution("dnnmove")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("dnnmove is not installed but run from a build tree")


def test_one_version(pyproject, recipe):
    version = pyproject["project"]["version"]
    assert dnnmove.__version__ == version
    assert recipe["package"]["version"] == version
    assert not re.search(r"\d+\.\d+\.\d+", (ROOT / "CMakeLists.txt").read_text()), "CMake reads pyproject's version"


def test_recipe_runs_on_what_the_wheel_requires(pyproject, recipe):
    run = conda_specs(recipe["requirements"]["run"])
    assert run.pop("python") == ""
    assert run.pop("onednn") == ">=3.2,<4 omp_*"
    assert {name: SpecifierSet(spec) for name, spec in run.items()} == pip_specs(dynamic_table(pyproject)["always"])


def test_recipe_asks_for_what_the_extras_ask_for(pyproject, recipe):
    extras = pyproject["project"]["optional-dependencies"]
    optional = pip_specs(extras["torch"] + extras["dask"] + extras["cli"] + extras["ir"])
    optional["pytorch"] = optional.pop("pytorch-cpu")  # whichever build of it
    constraints = conda_specs(recipe["requirements"]["run_constraints"])
    assert {name: SpecifierSet(spec) for name, spec in constraints.items()} == optional


def test_recipe_builds_with_what_the_wheel_builds_with(pyproject, recipe):
    host = conda_specs(recipe["requirements"]["host"])
    assert host["onednn"] == ">=3.2,<4 omp_*"
    for name, specifier in pip_specs(pyproject["build-system"]["requires"]).items():
        if name == "numpy":  # conda-forge's pinning has its version, and its run_exports say what then runs
            assert host[name] == ""
        else:
            assert SpecifierSet(host[name]) == specifier, name
    build = recipe["requirements"]["build"]
    assert {"${{ compiler('cxx') }}", "${{ stdlib('c') }}", "ninja"} <= {e for e in build if isinstance(e, str)}
    assert SpecifierSet(conda_specs(build)["cmake"]) == SpecifierSet(
        pyproject["tool"]["scikit-build"]["cmake"]["version"]
    )


def test_recipe_leaves_pips_onednn_out(recipe):
    script = recipe["build"]["script"]
    assert script["env"] == {"DNNMOVE_SYSTEM_ONEDNN": "1", "CMAKE_GENERATOR": "Ninja"}
    assert all("--no-deps" in line and "--no-build-isolation" in line for line in script["content"])


def test_recipe_tests_the_package(pyproject, recipe):
    imports, suite = recipe["tests"]
    assert imports["python"] == {"imports": ["dnnmove", "dnnmove._core"], "pip_check": True}
    scripts = suite["script"]["content"]
    assert (ROOT / scripts[0].split()[1]).is_file()
    files = re.findall(r"tests/\S+", scripts[-1])
    assert scripts[-1].startswith("pytest ")
    assert len(files) > 8
    assert all((ROOT / name).exists() for name in [*suite["files"]["source"], *files])
    extra = pip_specs(pyproject["project"]["optional-dependencies"]["test"])
    assert {name: SpecifierSet(spec) for name, spec in conda_specs(suite["requirements"]["run"]).items()} == {
        name: extra[name] for name in ("hypothesis", "pytest", "pytest-xdist")
    }


def test_recipe_says_whose_package_it_is(pyproject, recipe):
    about = recipe["about"]
    assert about["license"] == pyproject["project"]["license"]
    files = [path for pattern in pyproject["project"]["license-files"] for path in ROOT.glob(pattern)]
    assert sorted(about["license_file"]) == sorted(str(path.relative_to(ROOT)) for path in files)
    assert all(about[name].startswith("https://") for name in ("homepage", "repository", "documentation"))
    floor = pyproject["project"]["requires-python"]
    assert f'match(python, "{floor.replace(">=", "<")}")' in recipe["build"]["skip"]
    (source,) = recipe["source"]
    assert source["then"] == {"path": "${{ local_sdist }}"}
    assert re.fullmatch("[0-9a-f]{64}", source["else"]["sha256"])


def test_environment_covers_the_recipe_and_the_tests(pyproject, recipe, environment):
    requirements = recipe["requirements"]
    wanted = {
        **conda_specs(requirements["build"]),
        **conda_specs(requirements["run"]),
        **conda_specs(requirements["host"]),
        "numpy": ">=2.0",  # to build; the recipe leaves the version to conda-forge's pinning
    }
    wanted.pop("libgomp")  # of the compiler
    for name, spec in wanted.items():
        assert name in environment, name
        assert name == "python" or environment[name] == spec, name
    extras = pyproject["project"]["optional-dependencies"]
    for name, specifier in pip_specs(extras["test"] + extras["demo"]).items():
        assert name in environment, name
        exact = any(part.operator == "==" for part in specifier)  # pinned for pip's sake only
        assert exact or SpecifierSet(environment[name]) == specifier, name


def test_installed_metadata(pyproject, installed):
    table = dynamic_table(pyproject)
    assert installed.version == pyproject["project"]["version"]
    found = {Requirement(text).name for text in installed.requires if "extra ==" not in text}
    always = {Requirement(text).name for text in table["always"]}
    assert found in (always, always | {"onednn-cpu-gomp"})


def test_the_license_of_what_is_compiled_in_is_installed(installed):
    names = {file.name for file in installed.files if "licenses" in file.parts}
    assert names == {"LICENSE", "pybind11.txt"}


def test_the_texts_of_docstrings_are_not_installed(installed):
    assert installed.files
    assert not [file for file in installed.files if "_reference" in file.parts]


@pytest.mark.parametrize(("value", "wheel"), [(None, True), ("", True), ("0", True), ("1", False), ("on", False)])
def test_the_switch_decides_the_requirement(pyproject, monkeypatch, value, wheel):
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    provider = pytest.importorskip("onednn_requirement", reason="the source tree's scripts are not here")
    monkeypatch.delenv(provider.SWITCH, raising=False)
    if value is not None:
        monkeypatch.setenv(provider.SWITCH, value)
    table = dynamic_table(pyproject)
    dependencies = provider.dynamic_metadata(table, pyproject["project"])["dependencies"]
    assert dependencies == table["always"] + (table["run-wheel"] if wheel else [])
    assert provider.get_requires_for_dynamic_metadata(table) == (table["build-wheel"] if wheel else [])


def test_the_switch_refuses_what_is_no_switch(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    provider = pytest.importorskip("onednn_requirement", reason="the source tree's scripts are not here")
    monkeypatch.setenv(provider.SWITCH, "perhaps")
    with pytest.raises(ValueError, match=r"DNNMOVE_SYSTEM_ONEDNN \('perhaps'\) must be 0 or 1"):
        provider.system_onednn()


@pytest.fixture
def far_package(tmp_path):
    """A copy of the package where its RPATH leads nowhere; skips where the linker finds oneDNN all the same."""
    shutil.copytree(Path(dnnmove.__file__).parent, tmp_path / "dnnmove")
    probe = "import importlib.util as u; u.module_from_spec(u.spec_from_file_location('dnnmove._core', {!r}))"
    (core,) = (tmp_path / "dnnmove").glob("_core*.so")
    done = subprocess.run([sys.executable, "-S", "-c", probe.format(str(core))], capture_output=True, text=True)
    if "libdnnl" not in done.stderr:
        pytest.skip("the linker finds oneDNN without help")
    return tmp_path


def import_dnnmove(folder, *flags):
    command = [sys.executable, *flags, "-c", "import dnnmove; print(dnnmove.__file__, dnnmove.onednn_version())"]
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    return subprocess.run(command, env=environment, capture_output=True, text=True, cwd=folder)


def test_pips_records_lead_to_the_library(far_package):
    done = import_dnnmove(far_package)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [str(far_package / "dnnmove" / "__init__.py"), dnnmove.onednn_version()]


def test_a_missing_library_is_an_import_error_with_advice(far_package):
    done = import_dnnmove(far_package, "-S")  # no site-packages, so no records either
    assert done.returncode == 1
    assert "ImportError: libdnnl.so.3: cannot open shared object file" in done.stderr
    assert "pip install onednn-cpu-gomp" in done.stderr
    assert "conda install onednn" in done.stderr


@pytest.mark.skipif(sys.platform != "linux" or shutil.which("nm") is None, reason="needs nm of binutils")
def test_the_extension_shows_nothing_but_its_initialisation():
    """A static C++ library in it, as compilers without a shared one link, must not replace that of oneDNN."""
    shown = subprocess.check_output(["nm", "-D", "--defined-only", dnnmove._core.__file__], text=True).splitlines()
    names = {line.split()[-1] for line in shown}
    assert "PyInit__core" in names
    assert {name for name in names if not name.startswith("PyInit_")} == set()
