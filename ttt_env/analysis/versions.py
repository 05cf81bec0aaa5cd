"""The versions of what an agent's answers depend on, to store with results."""

import platform
from functools import cache
from importlib.metadata import PackageNotFoundError, version

_PACKAGES = ("ttt-env", "numpy", "torch", "stable-baselines3", "sb3-contrib")


def versions() -> dict[str, str]:
    """The versions of Python and of the installed packages on which an agent's results depend."""
    return dict(_versions())


@cache
def _versions() -> dict[str, str]:  # cached: reading the metadata of packages is slow
    versions = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return versions
