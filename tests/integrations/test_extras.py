"""Adapters of frameworks that are not installed."""

import importlib
import sys

import pytest


@pytest.mark.parametrize("name", ["jax", "mcp", "openenv", "textarena", "verifiers"])
def test_import_error_names_extra(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, {"mcp": "fastmcp"}.get(name, name), None)
    monkeypatch.delitem(sys.modules, f"ttt_env.integrations.{name}", raising=False)
    with pytest.raises(ImportError, match=rf'pip install "\.\[{name}\]"'):
        importlib.import_module(f"ttt_env.integrations.{name}")
