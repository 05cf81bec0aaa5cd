"""Masks of more than 64 cells in compiled code: numbers of several words, with the operators of `uint64`.

LLVM, which numba compiles with, knows integers of any number of bits. A `Wide` is one of them: it takes part
in `&`, `|`, `^`, `~`, `+`, `-`, `==` and `!=` with others and with `uint64`, so that a function written for
masks of 64 bits is compiled for wide ones unchanged. In arrays, whose elements NumPy has to know, each of
them is a record of its words (`sets.records`): `load` and `store` are the way between the two.
"""

# mypy: allow-untyped-calls, allow-untyped-decorators
import operator
from collections.abc import Callable
from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import cgutils, types
from numba.core.datamodel import models
from numba.core.typeconv.castgraph import Conversion
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import intrinsic as _numba_intrinsic
from numba.extending import lower_builtin, lower_cast, register_model

_WORD = 64
intrinsic: Any = _numba_intrinsic  # calls in compiled code have fewer arguments than the function


class Wide(types.Type):
    """numba's type of a mask of `n_words` words; `uint64` is converted to it wherever both meet."""

    def __init__(self, n_words: int) -> None:
        self.n_words = n_words
        super().__init__(name=f"Wide({n_words})")

    def unify(self, typingctx: Any, other: Any) -> "Wide | None":  # noqa: D102
        return self if other == types.uint64 else None

    def can_convert_from(self, typingctx: Any, other: Any) -> Any:  # noqa: D102
        return Conversion.safe if other == types.uint64 else None


@register_model(Wide)
class _WideModel(models.PrimitiveModel):
    def __init__(self, manager: Any, wide: Wide) -> None:
        super().__init__(manager, wide, ir.IntType(_WORD * wide.n_words))


@lower_cast(types.uint64, Wide)
def _widened(context: Any, builder: Any, narrow: Any, wide: Wide, word: Any) -> Any:
    return builder.zext(word, ir.IntType(_WORD * wide.n_words))


def _operator(function: Callable[..., Any], emit: Callable[..., Any], result: Any = None) -> None:
    """Let an operator take two wide masks, or a wide one and a `uint64`."""

    class Template(AbstractTemplate):
        def generic(self, masks: Any, _: Any) -> Any:
            wide = next((mask for mask in masks if isinstance(mask, Wide)), None)
            if wide is not None and all(mask in (wide, types.uint64) for mask in masks):
                return signature(result or wide, *[wide] * len(masks))
            return None

    infer_global(function)(Template)
    n_masks = 1 if function is operator.invert else 2
    lower_builtin(function, *[Wide] * n_masks)(lambda context, builder, sig, args: emit(builder, *args))


for _in_place, _plain, _emit in (
    (operator.iand, operator.and_, lambda builder, a, b: builder.and_(a, b)),
    (operator.ior, operator.or_, lambda builder, a, b: builder.or_(a, b)),
    (operator.ixor, operator.xor, lambda builder, a, b: builder.xor(a, b)),
    (operator.iadd, operator.add, lambda builder, a, b: builder.add(a, b)),
    (operator.isub, operator.sub, lambda builder, a, b: builder.sub(a, b)),
):
    _operator(_in_place, _emit)
    _operator(_plain, _emit)
_operator(operator.invert, lambda builder, a: builder.not_(a))
_operator(operator.eq, lambda builder, a, b: builder.icmp_unsigned("==", a, b), types.boolean)
_operator(operator.ne, lambda builder, a, b: builder.icmp_unsigned("!=", a, b), types.boolean)


@intrinsic
def ones(typingctx: Any, mask: Wide) -> Any:
    """The number of set bits."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.trunc(builder.ctpop(args[0]), ir.IntType(_WORD))

    return types.uint64(mask), emit


@intrinsic
def word(typingctx: Any, mask: Wide, number: Any) -> Any:
    """One of the words of a mask, as a `uint64`, from the lowest on."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        integer = args[0].type
        bits = builder.mul(builder.zext(args[1], integer), ir.Constant(integer, _WORD))
        return builder.trunc(builder.lshr(args[0], bits), ir.IntType(_WORD))

    return types.uint64(mask, types.uint64), emit


@intrinsic
def n_words(typingctx: Any, mask: Wide) -> Any:
    """The number of words of a mask."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return context.get_constant(types.int64, mask.n_words)

    return types.int64(mask), emit


@intrinsic
def bit(typingctx: Any, like: Wide, cell: Any) -> Any:
    """The mask of one cell, as wide as another mask."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        integer = args[0].type
        return builder.shl(ir.Constant(integer, 1), builder.zext(args[1], integer))

    return like(like, types.uint64), emit


def words_in(masks: Any) -> int:
    """The number of words of each mask in an array of records, by numba's type of the array."""
    return int(masks.dtype.size * 8 // _WORD)


def _pointer(context: Any, builder: Any, masks: Any, array: Any, index: Any) -> Any:
    """A pointer to the first word of the mask at an index of an array of records."""
    indices = cgutils.unpack_tuple(builder, index) if isinstance(index.type, ir.ArrayType) else [index]
    made = context.make_array(masks)(context, builder, array)
    place = cgutils.get_item_pointer(context, builder, masks, made, indices, wraparound=False)
    return builder.bitcast(place, ir.IntType(_WORD).as_pointer())


def _read(builder: Any, place: Any, n: int) -> Any:
    wide = ir.IntType(_WORD * n)
    mask = ir.Constant(wide, 0)
    for number in range(n):
        part = builder.load(builder.gep(place, [ir.Constant(ir.IntType(32), number)]), align=8)
        mask = builder.or_(mask, builder.shl(builder.zext(part, wide), ir.Constant(wide, _WORD * number)))
    return mask


def _write(builder: Any, place: Any, mask: Any) -> None:
    for number in range(mask.type.width // _WORD):
        part = builder.lshr(mask, ir.Constant(mask.type, _WORD * number))
        part = builder.trunc(part, ir.IntType(_WORD))
        builder.store(part, builder.gep(place, [ir.Constant(ir.IntType(32), number)]), align=8)


@intrinsic
def load(typingctx: Any, masks: Any, index: Any) -> Any:
    """The mask at an index, a number or a tuple of numbers, of an array of records."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        place = _pointer(context, builder, sig.args[0], *args)
        return _read(builder, place, words_in(sig.args[0]))

    return Wide(words_in(masks))(masks, index), emit


@intrinsic
def store(typingctx: Any, masks: Any, index: Any, mask: Any) -> Any:
    """Write a mask at an index of an array of records."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        _write(builder, _pointer(context, builder, sig.args[0], *args[:2]), args[2])
        return context.get_dummy_value()

    return types.void(masks, index, Wide(words_in(masks))), emit


@intrinsic
def load_nested(typingctx: Any, words: Any) -> Any:
    """The mask in a field of a record, an array of words."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        data = context.make_array(sig.args[0])(context, builder, args[0]).data
        return _read(builder, data, sig.args[0].shape[0])

    return Wide(words.shape[0])(words), emit


@intrinsic
def store_nested(typingctx: Any, words: Any, mask: Any) -> Any:
    """Write a mask into a field of a record, an array of words."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        _write(builder, context.make_array(sig.args[0])(context, builder, args[0]).data, args[1])
        return context.get_dummy_value()

    return types.void(words, Wide(words.shape[0])), emit
