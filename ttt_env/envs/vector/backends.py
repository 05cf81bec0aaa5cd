"""The place of a vector environment's arrays: NumPy's memory, or a device of another library.

The environment calls the functions of the Python array API standard, as `xp`. The parts that
the standard leaves open (random numbers, transfers) and those that make the host wait for a device are here.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ttt_env.errors import ParameterError, extra_for, shown
from ttt_env.rules import one_of
from ttt_env.rules.checks import BOOLEANS

if TYPE_CHECKING:
    import torch

Array: TypeAlias = Any  # of the back end's library: the standard has no type for it yet
RandomSource: TypeAlias = Any  # the library's generator of random numbers
SourceState: TypeAlias = Any  # the state of that generator
AnyArray: TypeAlias = NDArray[np.generic]
Make: TypeAlias = "Callable[[BackendName, str | None], Backend]"
BackendName = Literal["numpy", "torch"]
_INT64 = np.dtype(np.int64)
_ONE_IN_EACH_BYTE = 0x0101010101010101


class Backend(Protocol):
    """One array library. A *source* is its generator of random numbers."""

    is_remote: bool
    """True if the arrays are on a device: to look at a value, the host would have to wait for it."""

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
        """The entries with these numbers, `int64[B]`, along an axis, as a contiguous copy."""

    def count(self, passed: Array) -> Array:
        """The number of True entries in each row of `bool[B, 8 k]`, `[B]`."""

    def cells(self, actions: ArrayLike, size: int, n_cells: int) -> Array | None:
        """The actions as `int64[size]`; None unless they are `size` integers in [0, n_cells)."""

    def source(self, rng: np.random.Generator) -> RandomSource:
        """A source that is seeded by `rng`."""

    def random(self, source: RandomSource, shape: tuple[int, ...], /) -> Array:
        """Numbers in [0, 1), `float64` of this shape."""

    def state(self, source: RandomSource) -> SourceState:
        """The state from which `restore` makes the source draw the same numbers again."""

    def restore(self, source: RandomSource, state: SourceState) -> None:
        """Bring the source back to a state."""


class NumpyBackend:
    """NumPy. Methods replace functions whose calls cost more than their work on a small batch."""

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
        """Eight truth values at a time are counted, as the bits of a 64-bit number."""
        counts = np.bitwise_count(passed.view(np.uint64))
        return counts[:, 0] if counts.shape[1] == 1 else counts.sum(axis=1, dtype=np.uint8)

    def cells(self, actions: ArrayLike, size: int, n_cells: int) -> NDArray[np.int64] | None:  # noqa: D102
        if type(actions) is not np.ndarray and isinstance(actions, Sequence) and len(actions) != size:
            return None
        try:
            cells = np.asarray(actions)
            is_mixed = isinstance(actions, list | tuple) and any(
                isinstance(each, BOOLEANS) for each in actions
            )
        except Exception:  # they may be of a user's class
            return None
        if cells.shape != (size,) or is_mixed:
            return None
        if cells.dtype is not _INT64 or not cells.flags.carray:
            if cells.dtype.kind not in "iu":
                return None
            cells = cells.astype(np.int64)
        return cells if self._are_below(cells, n_cells) else None

    @cached_property
    def _are_below(self) -> Callable[[NDArray[np.int64], int], bool]:
        from ttt_env.envs.vector.steps_kernel import are_below, of_types

        return of_types(are_below, np.empty(0, np.int64), 0)

    def source(self, rng: np.random.Generator) -> np.random.Generator:  # noqa: D102
        return rng

    def random(self, source: np.random.Generator, shape: tuple[int, ...]) -> NDArray[np.float64]:  # noqa: D102
        return source.random(shape)

    def state(self, source: np.random.Generator) -> Mapping[str, Any]:  # noqa: D102
        return source.bit_generator.state

    def restore(self, source: np.random.Generator, state: Mapping[str, Any]) -> None:  # noqa: D102
        source.bit_generator.state = state


_NUMPY = NumpyBackend()


class TorchBackend:
    """PyTorch on a device. Raises `ImportError` without the extra, `ParameterError` without the device."""

    is_remote = True

    def __init__(self, device: str | None) -> None:
        with extra_for('backend="torch" needs', "torch"):
            import array_api_compat.torch as xp
            import torch
        self.xp: Any = xp
        self._device_name, self._torch = device, torch
        self.device = torch_device(device, torch.float64, "backend='torch'")

    def __reduce__(self) -> tuple[Make, tuple[BackendName, str | None]]:
        return backend_of, ("torch", self._device_name)

    @cached_property
    def _integer_types(self) -> "tuple[torch.dtype, ...]":
        torch = self._torch
        signed = torch.int8, torch.int16, torch.int32, torch.int64
        return *signed, torch.uint8, torch.uint16, torch.uint32, torch.uint64

    def put(self, array: AnyArray) -> Array:  # noqa: D102
        return self.xp.asarray(np.ascontiguousarray(array), device=self.device, copy=True)

    def get(self, array: "torch.Tensor") -> NDArray[Any]:  # noqa: D102
        values: NDArray[Any] = array.cpu().numpy()
        return values

    def copy(self, array: "torch.Tensor") -> "torch.Tensor":  # noqa: D102
        return array.clone()

    def take(self, array: Array, index: Array, axis: int) -> Array:  # noqa: D102
        return self.xp.take(array, index, axis=axis)

    def count(self, passed: Array) -> Array:
        """Eight truth values at a time are the bytes of a number; the product has their sum on top."""
        counts = passed.view(self.xp.int64) * _ONE_IN_EACH_BYTE >> 56
        return counts[:, 0] if counts.shape[1] == 1 else self.xp.sum(counts, axis=1)

    def cells(self, actions: ArrayLike, size: int, n_cells: int) -> "torch.Tensor | None":
        """The host waits for a device here: no sub-env may move if one of the actions is bad."""
        if not isinstance(actions, self._torch.Tensor):
            of_numpy = _NUMPY.cells(actions, size, n_cells)
            return None if of_numpy is None else self.put(of_numpy)
        if actions.shape != (size,) or actions.dtype not in self._integer_types:
            return None
        cells = actions.to(self.device, self.xp.int64)
        return cells if bool(((cells >= 0) & (cells < n_cells)).all()) else None

    def source(self, rng: np.random.Generator) -> "torch.Generator":  # noqa: D102
        return self._torch.Generator(self.device).manual_seed(int(rng.integers(1 << 63)))

    def random(self, source: "torch.Generator", shape: tuple[int, ...]) -> "torch.Tensor":  # noqa: D102
        return self._torch.rand(shape, generator=source, dtype=self._torch.float64, device=self.device)

    def state(self, source: "torch.Generator") -> "torch.Tensor":  # noqa: D102
        return source.get_state()

    def restore(self, source: "torch.Generator", state: "torch.Tensor") -> None:  # noqa: D102
        source.set_state(state)


def torch_device(name: str | None, dtype: "torch.dtype", user: str) -> "torch.device":
    """PyTorch's device of this name, the CPU for None.

    Raises `ParameterError` if there is none on which `user` can have numbers of this type.
    """
    import torch

    try:
        number = torch.zeros((), dtype=dtype, device=name or "cpu")
        number.item()  # "meta" has no values
        return number.device
    except Exception as error:  # PyTorch's errors for what is no device are of many kinds
        raise ParameterError(f"device={shown(name)}: {user} cannot use it: {error}") from error


def backend_of(name: BackendName = "numpy", device: str | None = None) -> Backend:
    """The back end of this name, on this device.

    Raises `ParameterError` for an unknown name and for a device that is not there, `ImportError` if the
    library of the back end is not installed.
    """
    one_of("backend", name, get_args(BackendName))
    if name == "numpy":
        one_of("device", device, (None, "cpu"))
    try:
        return _backend_of(name, device)
    except TypeError as error:  # of `lru_cache`
        raise ParameterError(f"device={shown(device)} of backend={name!r}: {error}") from None


@lru_cache
def _backend_of(name: BackendName, device: str | None) -> Backend:
    return NumpyBackend() if name == "numpy" else TorchBackend(device)
