"""Safetensors files, read and written without a further package.

Invariants
- A tensor is read when it is asked for, from a map of the file.
- A file is written tensor by tensor, so that no more than one of them is held beside it.
- The same tensors give the same bytes.
"""

import ctypes
import json
import mmap
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import torch

from .faults import TrainerFault

_DTYPES = {
    "F32": torch.float32,
    "F16": torch.float16,
    "BF16": torch.bfloat16,
    "I32": torch.int32,
    "I64": torch.int64,
    "U8": torch.uint8,
}
_NAMES = {dtype: name for name, dtype in _DTYPES.items()}


class TensorFile:
    """A file of tensors. `fault` is the kind that what is wrong with it is reported as."""

    def __init__(self, path: str, fault: str) -> None:
        self.path = path
        self._fault = fault
        try:
            with open(path, "rb") as file:
                self._bytes = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
        except (OSError, ValueError) as error:
            raise TrainerFault(fault, f"{path}: {error}") from error
        try:
            length = int.from_bytes(self._bytes[:8], "little")
            header = json.loads(self._bytes[8 : 8 + length])
            self.metadata: dict[str, str] = header.pop("__metadata__", {})
            self._entries: dict[str, dict] = header
        except (ValueError, AttributeError) as error:
            raise TrainerFault(fault, f"{path}: no safetensors file: {error}") from error
        self._data = 8 + length

    @property
    def names(self) -> list[str]:
        return list(self._entries)

    def __contains__(self, name: str) -> bool:
        return name in self._entries

    def __getitem__(self, name: str) -> torch.Tensor:
        """The tensor; its memory is the file's, and must not outlive this object."""
        entry = self._entries.get(name)
        if entry is None:
            raise TrainerFault(self._fault, f'{self.path}: tensor "{name}" is missing')
        dtype = _DTYPES.get(entry["dtype"])
        if dtype is None:
            raise TrainerFault(self._fault, f'{self.path}: tensor "{name}" has dtype {entry["dtype"]}')
        begin, end = entry["data_offsets"]
        shape = entry["shape"]
        count = 1
        for size in shape:
            count *= size
        if end - begin != count * dtype.itemsize or self._data + end > len(self._bytes):
            raise TrainerFault(self._fault, f'{self.path}: tensor "{name}" does not fit into the file')
        if count == 0:
            return torch.empty(shape, dtype=dtype)
        flat = torch.frombuffer(self._bytes, dtype=dtype, count=count, offset=self._data + begin)
        return flat.reshape(shape)


@dataclass(frozen=True)
class Slot:
    """A tensor to be written: its form now, its numbers when its turn comes."""

    name: str
    dtype: torch.dtype
    shape: tuple[int, ...]
    numbers: Callable[[], torch.Tensor]


def write_tensors(path: str | None, slots: Iterable[Slot], metadata: dict[str, str]) -> None:
    """Writes a file, flushed. Without a path the numbers are asked for all the same: ranks gather them together."""
    ordered = sorted(slots, key=lambda slot: (-slot.dtype.itemsize, slot.name))
    header: dict[str, object] = {"__metadata__": dict(sorted(metadata.items()))}
    offset = 0
    for slot in ordered:
        size = slot.dtype.itemsize
        for length in slot.shape:
            size *= length
        header[slot.name] = {
            "dtype": _NAMES[slot.dtype],
            "shape": list(slot.shape),
            "data_offsets": [offset, offset + size],
        }
        offset += size
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    if path is None:
        for slot in ordered:
            slot.numbers()
        return
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for slot in ordered:
            _write_numbers(file, slot.numbers().to("cpu", slot.dtype).contiguous())
        file.flush()
        os.fsync(file.fileno())


def _write_numbers(file, tensor: torch.Tensor) -> None:
    size = tensor.numel() * tensor.dtype.itemsize
    if size > 0:
        file.write((ctypes.c_char * size).from_address(tensor.data_ptr()))
