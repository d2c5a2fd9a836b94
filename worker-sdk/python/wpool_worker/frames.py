"""Frames: a length of four bytes, then one MessagePack map."""

from __future__ import annotations

import struct
from typing import Any, Dict, Iterator, Union

import msgpack

from .errors import Broken

LENGTH_BYTES = 4
# Workers do not know the pool's max_frame; this only refuses impossible lengths.
_LENGTH_MAX = 1 << 30
_READ_USUAL = 64 << 10
_READ_LARGE = 1 << 20

_read_length = struct.Struct(">I").unpack_from
Fields = Dict[str, Any]
Packed = Union[bytes, memoryview]


def _length_at(data: Union[bytes, bytearray], position: int) -> int:
    length: int = _read_length(data, position)[0]
    if not 0 < length <= _LENGTH_MAX:
        raise Broken(f"a frame of the supervisor has an impossible length, {length}")
    return length


def _decode(packed: Packed) -> Fields:
    try:
        fields = msgpack.unpackb(packed, strict_map_key=False, unicode_errors="surrogateescape")
    except (ValueError, msgpack.UnpackException) as error:
        raise Broken(f"a frame of the supervisor cannot be decoded: {error!r}") from error
    if type(fields) is not dict:
        raise Broken("a frame of the supervisor is not a map")
    return fields


def framed(packed: bytes) -> bytes:
    """Return the frame around a packed map."""
    return len(packed).to_bytes(LENGTH_BYTES, "big") + packed


class FrameReader:
    """Collects the bytes of the data pipe and decodes each whole frame when it is asked for it."""

    def __init__(self) -> None:
        self._rest = bytearray()  # the beginning of a frame
        self._wanted = LENGTH_BYTES  # how long it must be before it is worth a look
        self.packed: Packed = b""  # while feed() yields a map: the map as it came

    @property
    def read_size(self) -> int:
        """How many bytes the next read should ask for."""
        return min(max(self._wanted - len(self._rest), _READ_USUAL), _READ_LARGE)

    @property
    def is_cut(self) -> bool:
        """Whether the bytes so far end in the middle of a frame."""
        return bool(self._rest)

    def feed(self, got: bytes) -> Iterator[Fields]:
        """Yield the maps of the frames that got completes. Exhaust it before the next call."""
        data: Union[bytes, bytearray] = got
        if self._rest:
            self._rest += got
            if len(self._rest) < self._wanted:
                return
            data, self._rest = self._rest, bytearray()
        view, position, end, wanted = memoryview(data), 0, len(data), LENGTH_BYTES
        while end - position >= LENGTH_BYTES:
            after = position + LENGTH_BYTES + _length_at(data, position)
            if after > end:
                wanted = after - position
                break
            self.packed = view[position + LENGTH_BYTES:after]
            yield _decode(self.packed)
            position = after
        self._wanted = wanted
        if position < end:
            self._rest = bytearray(view[position:])
