"""Profiles of the property tests, and what several test files share."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# On a busy machine OpenMP's threads, which wait by spinning, would take most of the time of the tests.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

# Where these are set, pytest shows the whole difference of two values that should be equal: of megabytes, for hours.
for name in ("CI", "BUILD_NUMBER"):
    os.environ.pop(name, None)

# What the user has compiled for torch is not what is tested; the tests of that part compile their own.
os.environ["DNNMOVE_EXTENSION_DIR"] = str(Path(__file__).with_name("no-extension"))

# Some tests start Python in another folder: a relative PYTHONPATH (a build tree's src) must hold there too.
if os.environ.get("PYTHONPATH"):
    folders = os.environ["PYTHONPATH"].split(os.pathsep)
    os.environ["PYTHONPATH"] = os.pathsep.join(os.path.abspath(folder) for folder in folders)

sys.path.insert(0, str(Path(__file__).parent))  # oracle.py and strategies.py, under any import mode

for name, examples in (("quick", 30), ("ci", 150), ("full", 3000)):
    settings.register_profile(
        name,
        max_examples=examples,
        deadline=None,  # the machine may be busy; nothing here is timed
        print_blob=True,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
    )
PROFILE = os.environ.get("DNNMOVE_TEST_PROFILE", "ci")
settings.load_profile(PROFILE)


@pytest.fixture(autouse=True)
def nothing_stays_set():
    """Tuned problems and settings are the process's: other tests must not find them."""
    import dnnmove as dm

    def settings():
        return {"threads": dm.get_num_threads(), "cached primitives": dm.get_primitive_cache_capacity()}

    before = settings()
    yield
    if dm.tuning.problems():
        dm.tuning.clear()
    assert settings() == before


@pytest.fixture(scope="session")
def profile():
    """quick, ci or full: how much the tests may cost."""
    return PROFILE


@pytest.fixture
def run_python():
    """Runs a program in a new interpreter; what it must not survive or must not leave behind is safe there."""

    def run(program, *, timeout=120, check=True, **environment):
        done = subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            timeout=timeout,
        )
        assert not check or done.returncode == 0, f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    return run


@pytest.fixture
def errors_name():
    """errors_name(kind, call, "axis", "5", ...): `call` raises `kind` and the message holds all the words."""

    def check(kind, call, *words):
        with pytest.raises(kind) as caught:
            call()
        missing = [word for word in words if word not in str(caught.value)]
        assert not missing, f"{caught.value!r} does not name {missing}"
        return caught.value

    return check
