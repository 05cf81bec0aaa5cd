"""Scalars of TensorBoard's event files, read without TensorBoard.

A file is a row of records, each an 8-byte length, a checksum of it, as many bytes, a checksum of those; the
bytes are a protocol buffer `Event` (tensorflow/core/util/event.proto and framework/summary.proto).
"""

import struct
from collections.abc import Iterator
from typing import NamedTuple

_HEAD, _CHECKSUM = 12, 4  # bytes
_WALL_TIME, _STEP, _SUMMARY = 1, 2, 5  # fields of an event
_VALUE, _TAG, _SIMPLE_VALUE = 1, 1, 2  # of a summary; of a value
_VARINT, _BYTES = 0, 2
_FIXED = {1: "<d", 5: "<f"}  # types of fields by wire type
_WORD = 64  # bits

Field = tuple[int, int | float | bytes]


class Scalar(NamedTuple):
    """A number that was logged under a tag after so many steps, at a time in seconds."""

    tag: str
    step: int
    time: float
    value: float


def scalars(content: bytes) -> Iterator[Scalar]:
    """The scalars of an event file; of one that is being written, or is none, as far as it can be read."""
    try:
        for record in _records(content):
            yield from _scalars_of(record)
    except (struct.error, IndexError, UnicodeDecodeError, ValueError):
        return


def _records(content: bytes) -> Iterator[bytes]:
    at = 0
    while at + _HEAD <= len(content):
        (length,) = struct.unpack_from("<Q", content, at)
        end = at + _HEAD + length
        if end + _CHECKSUM > len(content):
            return
        yield content[at + _HEAD : end]
        at = end + _CHECKSUM


def _scalars_of(record: bytes) -> Iterator[Scalar]:
    event = dict(_fields(record))
    summary, time, step = event.get(_SUMMARY, b""), event.get(_WALL_TIME, 0.0), event.get(_STEP, 0)
    if not (isinstance(summary, bytes) and isinstance(time, float) and isinstance(step, int)):
        return
    for number, content in _fields(summary):
        if number == _VALUE and isinstance(content, bytes):
            value = dict(_fields(content))
            tag, found = value.get(_TAG), value.get(_SIMPLE_VALUE)
            if isinstance(tag, bytes) and isinstance(found, float):
                yield Scalar(tag.decode(), step, time, found)


def _fields(message: bytes) -> Iterator[Field]:
    """The fields of a protocol buffer: number and content."""
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        number, kind = key >> 3, key & 7
        if kind == _VARINT:
            content, at = _varint(message, at)
            yield number, content
        elif kind == _BYTES:
            length, at = _varint(message, at)
            yield number, message[at : at + length]
            at += length
        elif kind in _FIXED:
            yield number, struct.unpack_from(_FIXED[kind], message, at)[0]
            at += struct.calcsize(_FIXED[kind])
        else:
            raise ValueError(f"wire type {kind} is none of an event")


def _varint(message: bytes, at: int) -> tuple[int, int]:
    """A number of seven bits a byte, the lowest first, and where the next field begins."""
    found = shift = 0
    while message[at] & 0x80:
        found |= (message[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if shift > _WORD:
            raise ValueError("a number of an event has 64 bits")
    return found | message[at] << shift, at + 1
