"""Named tuples that compiled functions hand on by their address.

numba copies a tuple into the arguments of each call, of an array its pointer, shape and strides one by one: a
search of thirty arrays has hundreds of arguments, whose handing on took a third of the time of the compiler.
"""

# mypy: allow-untyped-calls, allow-untyped-decorators
from typing import Any, TypeVar

from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import cgutils, types
from numba.core.datamodel import models
from numba.core.imputils import impl_ret_borrowed, lower_builtin, lower_getattr_generic
from numba.core.typing.templates import (
    AbstractTemplate,
    AttributeTemplate,
    infer_getattr,
    infer_global,
    signature,
)
from numba.extending import register_model

_I32 = ir.IntType(32)
Record = TypeVar("Record")


def by_reference(record: Record) -> Record:
    """A named tuple for calls of `inner` functions, which take it by its address.

    It must be an argument of the `compiled` function that hands it on: those are kept until it returns.
    """
    return record


class _Reference(types.Type):
    """The address of a named tuple of the type `record`; its fields are read there."""

    def __init__(self, record: Any) -> None:
        self.record = record
        super().__init__(name=f"Reference({record})")

    def index(self, field: str) -> int:
        return int(self.record.fields.index(field))

    def field(self, name: str) -> Any:
        """The type of a field: of a named tuple its address."""
        field = self.record[self.index(name)]
        return _Reference(field) if isinstance(field, types.BaseNamedTuple) else field


@register_model(_Reference)
class _ReferenceModel(models.PrimitiveModel):
    def __init__(self, manager: Any, reference: Any) -> None:
        tuple_type = manager[reference.record].get_value_type()
        super().__init__(manager, reference, tuple_type.as_pointer())


@infer_global(by_reference)
class _ByReference(AbstractTemplate):
    key = by_reference

    def generic(self, args: Any, kws: Any) -> Any:
        (record,) = args
        return signature(_Reference(record), record) if isinstance(record, types.BaseNamedTuple) else None


@lower_builtin(by_reference, types.BaseNamedTuple)
def _store(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return cgutils.alloca_once_value(builder, args[0])


@infer_getattr
class _Fields(AttributeTemplate):
    key = _Reference

    def generic_resolve(self, reference: Any, field: str) -> Any:  # type: ignore[override]
        return reference.field(field) if field in reference.record.fields else None


@lower_getattr_generic(_Reference)
def _load(context: Any, builder: Any, reference: Any, address: Any, field: str) -> Any:
    pointer = cgutils.gep_inbounds(builder, address, 0, reference.index(field))
    if isinstance(reference.field(field), _Reference):
        return pointer
    return impl_ret_borrowed(context, builder, reference.field(field), _loaded(builder, pointer))


def _loaded(builder: Any, pointer: Any) -> Any:
    """What is at an address; member by member, for the optimiser looks into no whole structure."""
    kind = pointer.type.pointee
    if not isinstance(kind, ir.Aggregate):
        value = builder.load(pointer)
        value.set_metadata("invariant.load", builder.module.add_metadata([]))
        return value
    whole = kind(ir.Undefined)
    for i in range(len(kind.elements)):
        member = _loaded(builder, builder.gep(pointer, [_I32(0), _I32(i)], inbounds=True))
        whole = builder.insert_value(whole, member, i)
    return whole
