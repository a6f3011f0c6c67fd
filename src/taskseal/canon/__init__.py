"""Bytes: the strict reader, the canonical form, digests and their text.

Source: RFC 8785, SPEC sections 1 and 2.
"""

from __future__ import annotations

from taskseal.canon.dharma import Portability, portability
from taskseal.canon.digest import (
    CODECS,
    Algorithm,
    Digest,
    DirectoryManifest,
    FileEntry,
    Hashed,
    dharma_directory_hash,
    hash_directory,
    hash_file,
    nfc,
    read_stream,
    self_digest,
)
from taskseal.canon.encoding import b64url_decode, b64url_encode, hex_decode
from taskseal.canon.jcs import (
    canonicalise,
    cross_check,
    encode,
    first_large_integral,
    recanonicalise,
)
from taskseal.canon.locate import MAX_DEPTH
from taskseal.canon.numbers import MAX_SAFE_INTEGER
from taskseal.canon.pointer import MISSING, escape, join, resolve, split
from taskseal.canon.strictjson import Parsed, parse

__all__ = [
    "CODECS",
    "MAX_DEPTH",
    "MAX_SAFE_INTEGER",
    "MISSING",
    "Algorithm",
    "Digest",
    "DirectoryManifest",
    "FileEntry",
    "Hashed",
    "Parsed",
    "Portability",
    "b64url_decode",
    "b64url_encode",
    "canonicalise",
    "cross_check",
    "dharma_directory_hash",
    "encode",
    "escape",
    "first_large_integral",
    "hash_directory",
    "hash_file",
    "hex_decode",
    "join",
    "nfc",
    "parse",
    "portability",
    "read_stream",
    "recanonicalise",
    "resolve",
    "self_digest",
    "split",
]
