"""Digests of values, files and directories, and the two rules of Orbiplex's own.

Source: SPEC section 2.
"""

from __future__ import annotations

import unicodedata
from typing import cast

from taskseal.canon.codec import CODECS, Algorithm, Digest
from taskseal.canon.directory import (
    DirectoryManifest,
    FileEntry,
    dharma_directory_hash,
    hash_directory,
)
from taskseal.canon.files import Hashed, hash_file, read_stream
from taskseal.canon.locate import MAX_DEPTH
from taskseal.canon.pointer import escape
from taskseal.errors import InputError, Reason

__all__ = [
    "CODECS",
    "Algorithm",
    "Digest",
    "DirectoryManifest",
    "FileEntry",
    "Hashed",
    "dharma_directory_hash",
    "hash_directory",
    "hash_file",
    "nfc",
    "read_stream",
    "self_digest",
]


def self_digest(value: object, member: str) -> Digest:
    """The digest of an object that carries its own digest in ``member``.

    It covers the object with that member set to the empty string, not removed.

    Raises:
        InputError: ``unsupported_type`` when ``value`` is not an object; else as
            :func:`taskseal.canon.jcs.canonicalise`.

    Source: SPEC section 2.4.
    """
    if type(value) is not dict:
        raise InputError(
            Reason.UNSUPPORTED_TYPE,
            f"only an object carries its own digest, not {type(value).__name__}",
            pointer="",
        )
    return Digest.of_json({**value, member: ""})


def nfc(value: object) -> object:
    """``value`` with every string, names too, in Unicode normalisation form C.

    For Orbiplex instruction material only; nothing else here is ever normalised.

    Raises:
        InputError: ``duplicate_member`` when two names of one object become the same,
            ``nesting_too_deep`` beyond 128 open containers.

    Source: SPEC section 2.4, Unicode Standard Annex 15.
    """
    return _nfc(value, "", 0)


def _nfc(value: object, pointer: str, depth: int) -> object:
    kind = type(value)
    if kind is str:
        return unicodedata.normalize("NFC", cast(str, value))
    if kind is not dict and kind is not list:
        return value
    if depth >= MAX_DEPTH:
        raise InputError(Reason.NESTING_TOO_DEEP, pointer=pointer)
    if kind is list:
        return [
            _nfc(item, f"{pointer}/{index}", depth + 1)
            for index, item in enumerate(cast("list[object]", value))
        ]
    normal: dict[object, object] = {}
    for name, item in cast("dict[object, object]", value).items():
        where = f"{pointer}/{escape(name)}" if type(name) is str else pointer
        new_name = unicodedata.normalize("NFC", name) if type(name) is str else name
        if new_name in normal:
            raise InputError(
                Reason.DUPLICATE_MEMBER, "two names are the same in form C", pointer=where
            )
        normal[new_name] = _nfc(item, where, depth + 1)
    return normal
