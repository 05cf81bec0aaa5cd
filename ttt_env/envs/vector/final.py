"""What a vector env tells of episodes that ended in a step that begins the next ones."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray


def final_infos(observation: Any, info: dict[str, Any], over: NDArray[np.bool_]) -> dict[str, Any]:
    """`final_obs` and `final_info`, as Gymnasium's vector envs give them, from those of the ended sub-envs.

    `final_obs` `[B]` are objects, the observation of each that is `over`, else None; the arrays of
    `final_info` are those of `info` spread out to all sub-envs, 0 elsewhere.
    """
    index = over.nonzero()[0]
    observations = np.full(len(over), None)
    observations[index] = np.fromiter(rows_of(observation), np.object_, len(index))
    final_info: dict[str, Any] = {}
    for key in [key for key in info if not key.startswith("_")]:
        final_info[key] = np.zeros((len(over), *info[key].shape[1:]), info[key].dtype)
        final_info[key][index] = info[key]
        final_info[f"_{key}"] = over.copy()
    found = {"final_obs": observations, "final_info": final_info}
    return found | {f"_{key}": over.copy() for key in found}


def whole_infos(observation: Any, info: dict[str, Any], over: Callable[[], Any]) -> dict[str, Any]:
    """The same without a look at which sub-envs ended: the observations and infos of all, `[B, …]`.

    `_final_obs` and `_final_info`, `bool[B]`, which `over` makes, say for which of them it was the end.
    """
    final_info = {key: over() if key.startswith("_") else part for key, part in info.items()}
    return {"final_obs": observation, "final_info": final_info, "_final_obs": over(), "_final_info": over()}


def rows_of(batch: Any) -> list[Any]:
    """The rows of an array, or of a dict of arrays."""
    if not isinstance(batch, dict):
        return list(batch)
    return [dict(zip(batch, row, strict=True)) for row in zip(*batch.values(), strict=True)]
