"""What a vector env tells of episodes that ended in a step that begins the next ones."""

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
    observations[index] = _rows(observation, len(index))
    final_info: dict[str, Any] = {}
    for key in [key for key in info if not key.startswith("_")]:
        final_info[key] = np.zeros((len(over), *info[key].shape[1:]), info[key].dtype)
        final_info[key][index] = info[key]
        final_info[f"_{key}"] = over.copy()
    found = {"final_obs": observations, "final_info": final_info}
    return found | {f"_{key}": over.copy() for key in found}


def _rows(batch: Any, size: int) -> NDArray[np.object_]:
    """The rows of an array, or of a dict of arrays, as `size` objects."""
    row = (
        (lambda at: {key: part[at] for key, part in batch.items()})
        if isinstance(batch, dict)
        else batch.__getitem__
    )
    rows: NDArray[np.object_] = np.frompyfunc(row, 1, 1)(np.arange(size))
    return rows
