"""The highest generations that a trust store has stood at, kept outside its folder.

Source: SPEC section 4.9: rollback is refused across restarts.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from taskseal import storage
from taskseal.canon.jcs import canonicalise
from taskseal.errors import InputError, Reason
from taskseal.keys.keyset import MAX_GENERATION
from taskseal.keys.pins import MAX_ISSUER
from taskseal.keys.shape import Shape
from taskseal.storage import REAL_DISK, Disk

MARK_SCHEMA = "taskseal.trust-mark/v1"
_MARK_LIMIT = 1 << 24


class Mark:
    """A folder with one file a store, named by the store's id; a number in it never falls."""

    def __init__(self, folder: Path, disk: Disk = REAL_DISK) -> None:
        self.folder = folder
        self._disk = disk

    def read(self, store: str) -> dict[str, int]:
        """Issuer → the highest generation seen; nothing where the store was never here.

        Raises:
            InputError: ``file_unreadable``.
            MaterialError: ``trust_malformed``.
        """
        path = self._path(store)
        try:
            data = storage.read_file(path, _MARK_LIMIT)
        except InputError as absent:
            if absent.code is Reason.FILE_MISSING:
                return {}
            raise
        shape = Shape(str(path), Reason.TRUST_MALFORMED)
        top = shape.members(shape.document(data), "", ("schema", "highest"))
        shape.constant(top["schema"], "/schema", MARK_SCHEMA)
        if not isinstance(top["highest"], Mapping):
            raise shape.fault("/highest", "an object of issuers and generations belongs here")
        return {
            shape.text(issuer, "/highest", MAX_ISSUER): shape.number(
                generation, "/highest", 1, MAX_GENERATION
            )
            for issuer, generation in top["highest"].items()
        }

    def raise_to(self, store: str, highest: Mapping[str, int]) -> None:
        """Notes that the store stands at ``highest``; call it under the store's lock.

        Raises:
            InputError: ``file_unwritable``.
        """
        before = self.read(store)
        after = dict(before)
        for issuer, generation in highest.items():
            after[issuer] = max(generation, before.get(issuer, 0))
        if after != before:
            storage.make_folder(self.folder, disk=self._disk)
            text = canonicalise({"schema": MARK_SCHEMA, "highest": after}) + b"\n"
            storage.write_atomic(self._path(store), text, overwrite=True, disk=self._disk)

    def _path(self, store: str) -> Path:
        return self.folder / f"{store}.json"
