"""Where the arrays of a vector environment are: in NumPy's memory, or on a device of another library.

The environment is written against the functions of the Python array API standard, which are those of
`xp`. What the standard leaves open, random numbers and transfers, or what waits for a device, is here.
"""

from collections.abc import Callable, Mapping
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ttt_env.errors import ParameterError
from ttt_env.rules.checks import one_of

if TYPE_CHECKING:
    import torch

Array: TypeAlias = Any  # of the back end's library: the standard has no type for it yet
Source: TypeAlias = Any  # the library's generator of random numbers
State: TypeAlias = Any  # what its generator tells of itself
AnyArray: TypeAlias = NDArray[np.generic]
Make: TypeAlias = "Callable[[BackendName, str | None], Backend]"
BackendName = Literal["numpy", "torch"]
_INT64 = np.dtype(np.int64)
_ONE_IN_EACH_BYTE = 0x0101010101010101


class Backend(Protocol):
    """One array library. A *source* is its generator of random numbers."""

    is_remote: bool
    """Whether the host should not look at values: it would have to wait for the device."""

    def __hash__(self) -> int: ...

    @property
    def xp(self) -> Any:
        """The functions of the array API standard."""

    @property
    def device(self) -> Any:
        """The device of all arrays."""

    def put(self, array: AnyArray) -> Array:
        """The array on the device."""

    def get(self, array: Array) -> NDArray[Any]:
        """The array in NumPy's memory."""

    def copy(self, array: Array) -> Array:
        """Another array with the same values."""

    def take(self, array: Array, index: Array, axis: int, /) -> Array:
        """The rows, or what else lies along an axis, with these numbers, `int64[B]`: a contiguous copy."""

    def count(self, passed: Array) -> Array:
        """How many are true in each row of `bool[B, 8 k]`."""

    def cells(self, actions: ArrayLike, size: int, n_cells: int) -> Array | None:
        """The actions as `int64[size]`; None if they are not so many integers in [0, n_cells)."""

    def source(self, rng: np.random.Generator) -> Source:
        """A source that is seeded by `rng`."""

    def random(self, source: Source, shape: tuple[int, ...], /) -> Array:
        """Numbers in [0, 1), `float64` of this shape."""

    def state(self, source: Source) -> State:
        """What `restore` needs to have the source draw the same numbers again."""

    def restore(self, source: Source, state: State) -> None:
        """Bring the source back to a state."""


class NumpyBackend:
    """NumPy: methods instead of its functions where these cost more than the work on a small batch."""

    xp = np
    device = "cpu"
    is_remote = False
    copy, take = staticmethod(np.ndarray.copy), staticmethod(np.ndarray.take)

    def __reduce__(self) -> tuple[Make, tuple[BackendName, None]]:
        return backend_of, ("numpy", None)

    def put(self, array: AnyArray) -> AnyArray:  # noqa: D102
        return array

    def get(self, array: NDArray[Any]) -> NDArray[Any]:  # noqa: D102
        return array

    def count(self, passed: NDArray[np.bool_]) -> NDArray[np.uint8]:
        """Eight truth values at a time are counted as the bits of a number."""
        counts = np.bitwise_count(passed.view(np.uint64))
        return counts[:, 0] if counts.shape[1] == 1 else counts.sum(axis=1, dtype=np.uint8)

    def cells(self, actions: ArrayLike, size: int, n_cells: int) -> NDArray[np.int64] | None:  # noqa: D102
        try:
            cells = np.asarray(actions)
        except ValueError:
            return None
        if cells.dtype is not _INT64 or not cells.flags.carray:
            if cells.dtype.kind not in "iu":
                return None
            cells = cells.astype(np.int64)
        return cells if cells.shape == (size,) and self._are_below(cells, n_cells) else None

    @cached_property
    def _are_below(self) -> Callable[[NDArray[np.int64], int], bool]:
        from ttt_env.kernels.steps import are_below, of_types

        return of_types(are_below, np.empty(0, np.int64), 0)

    def source(self, rng: np.random.Generator) -> np.random.Generator:  # noqa: D102
        return rng

    def random(self, source: np.random.Generator, shape: tuple[int, ...]) -> NDArray[np.float64]:  # noqa: D102
        return source.random(shape)

    def state(self, source: np.random.Generator) -> Mapping[str, Any]:  # noqa: D102
        return source.bit_generator.state

    def restore(self, source: np.random.Generator, state: Mapping[str, Any]) -> None:  # noqa: D102
        source.bit_generator.state = state


class TorchBackend:
    """PyTorch on a device. Raises `ImportError` without the extra, `ParameterError` without the device."""

    is_remote = True

    def __init__(self, device: str | None) -> None:
        try:
            import array_api_compat.torch as xp
            import torch
        except ImportError as error:
            text = 'backend="torch" needs the extra "torch": pip install "ttt-env[torch]"'
            raise ImportError(text) from error
        self.xp: Any = xp
        self._asked, self._torch = device, torch
        try:
            self.device = torch.empty(0, dtype=torch.float64, device=device or "cpu").device
        except (RuntimeError, AssertionError, NotImplementedError, TypeError) as error:
            raise ParameterError(f"device={device!r}: backend='torch' cannot use it: {error}") from error

    def __reduce__(self) -> tuple[Make, tuple[BackendName, str | None]]:
        return backend_of, ("torch", self._asked)

    @cached_property
    def _integers(self) -> "tuple[torch.dtype, ...]":
        torch = self._torch
        return torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8, torch.uint16, torch.uint32

    def put(self, array: AnyArray) -> Array:  # noqa: D102
        return self.xp.asarray(np.ascontiguousarray(array), device=self.device, copy=True)

    def get(self, array: "torch.Tensor") -> NDArray[Any]:  # noqa: D102
        found: NDArray[Any] = array.cpu().numpy()
        return found

    def copy(self, array: "torch.Tensor") -> "torch.Tensor":  # noqa: D102
        return array.clone()

    def take(self, array: Array, index: Array, axis: int) -> Array:  # noqa: D102
        return self.xp.take(array, index, axis=axis)

    def count(self, passed: Array) -> Array:
        """Eight truth values at a time are the bytes of a number; the product has their sum as its first."""
        counts = passed.view(self.xp.int64) * _ONE_IN_EACH_BYTE >> 56
        return counts[:, 0] if counts.shape[1] == 1 else self.xp.sum(counts, axis=1)

    def cells(self, actions: ArrayLike, size: int, n_cells: int) -> "torch.Tensor | None":
        """The host waits for the device here: no sub-env may move if one of the actions is bad."""
        try:
            cells = self._torch.as_tensor(actions, device=self.device)
        except (TypeError, ValueError, RuntimeError):
            return None
        if cells.shape != (size,) or cells.dtype not in self._integers:
            return None
        cells = cells.to(self.xp.int64)
        return cells if bool(((cells >= 0) & (cells < n_cells)).all()) else None

    def source(self, rng: np.random.Generator) -> "torch.Generator":  # noqa: D102
        return self._torch.Generator(self.device).manual_seed(int(rng.integers(1 << 63)))

    def random(self, source: "torch.Generator", shape: tuple[int, ...]) -> "torch.Tensor":  # noqa: D102
        return self._torch.rand(shape, generator=source, dtype=self._torch.float64, device=self.device)

    def state(self, source: "torch.Generator") -> "torch.Tensor":  # noqa: D102
        return source.get_state()

    def restore(self, source: "torch.Generator", state: "torch.Tensor") -> None:  # noqa: D102
        source.set_state(state)


@lru_cache
def backend_of(name: BackendName = "numpy", device: str | None = None) -> Backend:
    """The back end of this name. Raises `ParameterError` for another one, or for a device that is not there.

    Raises `ImportError` where the library of the back end is not installed.
    """
    one_of("backend", name, get_args(BackendName))
    if name == "torch":
        return TorchBackend(device)
    one_of("device", device, (None, "cpu"))
    return NumpyBackend()
