"""The dependencies of a wheel, with or without the pip package that carries oneDNN's library.

scikit-build-core calls this module (see ``[[tool.dynamic-metadata]]`` in pyproject.toml) before CMake runs.
The environment variable DNNMOVE_SYSTEM_ONEDNN=1 says that oneDNN comes from outside pip, as in a conda
package: then no pip package of oneDNN is needed to build, and none appears in the wheel's metadata.
"""

import os
from collections.abc import Mapping
from typing import Any

SWITCH = "DNNMOVE_SYSTEM_ONEDNN"


def system_onednn() -> bool:
    """Whether the switch says that oneDNN is not to come from pip."""
    value = os.environ.get(SWITCH, "").strip().lower()
    if value not in {"", "0", "1", "false", "true", "off", "on"}:
        raise ValueError(f"{SWITCH} ({value!r}) must be 0 or 1")
    return value in {"1", "true", "on"}


def dynamic_metadata(settings: Mapping[str, Any], _project: Mapping[str, Any]) -> dict[str, Any]:
    """The field ``dependencies`` of ``[project]``."""
    return {"dependencies": settings["always"] + ([] if system_onednn() else settings["run-wheel"])}


def get_requires_for_dynamic_metadata(settings: Mapping[str, Any]) -> list[str]:
    """What pip installs into the isolated build environment besides ``build-system.requires``."""
    return [] if system_onednn() else list(settings["build-wheel"])


def dynamic_wheel(_settings: Mapping[str, Any]) -> dict[str, bool]:
    """Wheels of one source archive may differ in their dependencies."""
    return {"dependencies": True}
