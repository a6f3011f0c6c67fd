"""The forms that signatures travel in: one row each.

Source: SPEC section 6.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from taskseal.canon.strictjson import parse
from taskseal.errors import InputError, Reason
from taskseal.wire.base import Form, Sealed
from taskseal.wire.card import CARD
from taskseal.wire.dsse import DSSE
from taskseal.wire.embedded import EMBEDDED
from taskseal.wire.integrity import INTEGRITY
from taskseal.wire.jose import JWS, JWS_DETACHED, JWS_GENERAL
from taskseal.wire.orbiplex import ORBIPLEX
from taskseal.wire.sshsig import SSHSIG

MAX_SIGNATURE_FILE = 64 * 1024
"""The largest file of a detached signature, in bytes."""

FORMS: Mapping[str, Form] = MappingProxyType(
    {
        form.name: form
        for form in (
            EMBEDDED,
            JWS,
            JWS_DETACHED,
            JWS_GENERAL,
            DSSE,
            INTEGRITY,
            SSHSIG,
            ORBIPLEX,
            CARD,
        )
    }
)
"""Every form by its name."""
FORMATS: Mapping[str, Form] = MappingProxyType(
    {name: form for form in FORMS.values() for name in form.formats}
)
"""What `sign` writes, by the name of the format, and the form that it arrives in."""

_AROUND = tuple(form for form in FORMS.values() if form.place == "around")
_BESIDE = tuple(form for form in FORMS.values() if form.place == "beside")


def around(value: Any) -> Form | None:
    """The form in which ``value`` carries a document, or None when it is the document itself."""
    if type(value) is not dict or "payload" not in value:
        return None
    return next((form for form in _AROUND if form.detect(value)), None)


def read_around(form: Form, value: Any) -> Sealed:
    """The signatures of a value that :func:`around` knows, and what they came around.

    Raises:
        InputError: ``signature_malformed`` and the like, with the pointer.
    """
    assert form.read is not None
    return form.read(value)


def read_beside(data: bytes) -> tuple[Form, Sealed]:
    """The signature in a file of its own, and the form that it has.

    One line end after the signature is not part of it.

    Raises:
        InputError: as :func:`read_around`; ``too_large`` over 64 KiB.
    """
    if len(data) > MAX_SIGNATURE_FILE:
        raise InputError(Reason.TOO_LARGE, f"the signature is over {MAX_SIGNATURE_FILE} bytes")
    text = bytes(data)
    if text.endswith(b"\n"):
        text = text[:-2] if text.endswith(b"\r\n") else text[:-1]
    value: Any = text
    form = _told(text)
    if form is None:
        try:
            value = parse(text).value
        except InputError as fault:
            raise _malformed(
                f"it is neither a signature in text nor JSON: {fault.detail}", fault.pointer
            ) from None
        form = _told(value)
    if form is None:
        raise _malformed("it is a signature of no form that stands beside a document", "")
    assert form.read is not None
    return form, form.read(value)


def _told(value: Any) -> Form | None:
    return next((form for form in _BESIDE if form.detect(value)), None)


def _malformed(detail: str, pointer: str | None) -> InputError:
    return InputError(Reason.SIGNATURE_MALFORMED, detail, pointer=pointer)
