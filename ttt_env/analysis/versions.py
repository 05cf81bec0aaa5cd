"""The versions of what an agent's answers depend on, to keep beside results."""

import platform
from importlib.metadata import PackageNotFoundError, version

_PACKAGES = ("ttt-env", "numpy", "torch", "stable-baselines3", "sb3-contrib")


def versions() -> dict[str, str]:
    """The versions of Python and of the installed packages on which an agent's results depend."""
    found = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
