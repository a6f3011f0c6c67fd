"""From material to digest: the one place that says how each kind of material becomes bytes.

Source: SPEC section 2.
"""

from __future__ import annotations

import os
from typing import Any, BinaryIO, Literal

from taskseal.canon.digest import Digest, nfc
from taskseal.canon.directory import dharma_directory_hash, hash_directory
from taskseal.canon.files import Hashed, hash_file, is_folder, read_stream
from taskseal.canon.jcs import canonicalise
from taskseal.canon.pointer import MISSING, resolve
from taskseal.canon.strictjson import parse
from taskseal.errors import InputError, Reason
from taskseal.profiles.base import Binding, Envelope
from taskseal.storage import read_file

Source = bytes | os.PathLike[str] | BinaryIO
"""An artefact as a caller supplies it: its bytes, the path of a file or folder, or a stream."""

MAX_MATERIAL = 64 * 1024 * 1024
"""The largest JSON material that is read whole, in bytes."""

_BUNDLE_OUTSIDE = ("signature", "bundleHash")


def measure(binding: Binding, envelope: Envelope, source: Source | None) -> Hashed | None:
    """Digest and size of what ``binding`` covers, or None when the material is not at hand.

    Raises:
        InputError: ``digest_mismatch`` when the material is not of its kind at all (no JSON, no
            object), or a file code when it cannot be read.
        MaterialError: ``extra_missing`` when BLAKE3 is wanted and not installed.
    """
    if binding.inline is not None:
        value = resolve(envelope, binding.inline)
        return None if value is MISSING else _inline(binding, value)
    if source is None:
        return None
    folder = binding.kind in ("directory", "skill")
    if isinstance(source, os.PathLike) and is_folder(source) is (not folder):
        # Which artefact is what kind is the message's word, so that this is the message's fault.
        raise _not_of_its_kind(binding, "it is a file" if folder else "it is a folder")
    if folder:
        return _directory(binding, source)
    if binding.kind in ("bytes", "text"):
        return _hash(source)
    value = _parsed(binding, source)
    if binding.kind == "nfc-json":
        value = nfc(value)
    elif binding.kind == "bundle":
        if type(value) is not dict:
            raise _not_of_its_kind(binding, "it is not an object")
        value = {name: item for name, item in value.items() if name not in _BUNDLE_OUTSIDE}
    data = canonicalise(value)
    return Hashed(Digest.of(data), len(data))


def _inline(binding: Binding, value: Any) -> Hashed:
    if binding.kind == "text":
        if type(value) is not str:
            raise _not_of_its_kind(binding, "it is not a text")
        data = value.encode()
    else:
        data = canonicalise(value)
    return Hashed(Digest.of(data), len(data))


def _directory(binding: Binding, source: Source) -> Hashed:
    if not isinstance(source, os.PathLike):
        raise _not_of_its_kind(binding, "a folder is named by its path")
    if binding.kind == "directory":
        manifest = hash_directory(source)
        return Hashed(manifest.digest, manifest.size)
    algorithm: Literal["sha256", "blake3"]
    algorithm = "blake3" if binding.codec.startswith("blake3:") else "sha256"
    return Hashed(dharma_directory_hash(source, algorithm), 0)


def _hash(source: Source) -> Hashed:
    if isinstance(source, bytes):
        return Hashed(Digest.of(source), len(source))
    if isinstance(source, os.PathLike):
        return hash_file(source)
    return read_stream(_rewound(source))


def _rewound(stream: BinaryIO) -> BinaryIO:
    # One artefact may be bound at two places; each reading starts at its beginning.
    if stream.seekable():
        stream.seek(0)
    return stream


def _parsed(binding: Binding, source: Source) -> Any:
    if isinstance(source, os.PathLike):
        data = read_file(source, MAX_MATERIAL)
    else:
        data = source if isinstance(source, bytes) else _rewound(source).read(MAX_MATERIAL)
    try:
        return parse(data).value
    except InputError as fault:
        raise _not_of_its_kind(binding, f"it is not strict JSON: {fault}") from None


def _not_of_its_kind(binding: Binding, why: str) -> InputError:
    return InputError(Reason.DIGEST_MISMATCH, f"{binding.name}: {why}", pointer=binding.pointer)
