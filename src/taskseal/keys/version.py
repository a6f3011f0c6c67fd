"""Key versions: the names by which messages say which key signed them.

Source: SPEC section 4.5.
"""

from __future__ import annotations

import unicodedata

from taskseal.errors import InputError, Reason

KeyVersion = str

MAX_KEY_VERSION = 500
"""Characters (code points) of the longest key version."""

# Control characters, surrogates, line and paragraph separators: each would break a listing,
# and a lone surrogate has no UTF-8.
_UNFIT = frozenset({"Cc", "Cs", "Zl", "Zp"})


def readable_key_version(value: object) -> KeyVersion | None:
    """``value`` when it may stand in a message or a trust file, else None: 1–500 characters."""
    if type(value) is str and 1 <= len(value) <= MAX_KEY_VERSION:
        return value
    return None


def check_new_key_version(text: object) -> KeyVersion:
    """``text`` when a new key may bear it: 1–500 characters, no controls, no outer blanks.

    Raises:
        InputError: ``usage``.
    """
    return check_name(text, "key version")


def check_name(text: object, what: str) -> str:
    """``text`` when a new key version, issuer or principal (``what``) may be spelt so.

    Raises:
        InputError: ``usage``.
    """
    found = readable_key_version(text)
    if found is None:
        raise InputError(
            Reason.USAGE,
            f"a {what} has 1 to {MAX_KEY_VERSION} characters",
            hint=f"choose another {what}, such as kms/tasks/1",
        )
    if any(unicodedata.category(character) in _UNFIT for character in found):
        raise InputError(
            Reason.USAGE,
            f"the {what} {found!a} holds control characters",
            hint="use printable characters only",
        )
    if found != found.strip():
        raise InputError(
            Reason.USAGE,
            f"the {what} {found!a} begins or ends with a blank",
            hint="remove the outer blanks",
        )
    return found
