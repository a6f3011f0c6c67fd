"""OpenSSH's ``allowed_signers`` file: pins for a receiver that has nothing but ``ssh-keygen``.

The principal is the issuer, each namespace a profile, the comment the key version. An end that
lies between two seconds is cut, so that OpenSSH never takes more than pins would.

Source: ssh-keygen(1), ALLOWED SIGNERS; OpenSSH sshsig.c for how times are compared.
"""

from __future__ import annotations

import binascii
import re
from base64 import b64decode, b64encode
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import NamedTuple
from urllib.parse import quote, unquote

from taskseal.errors import InputError, MaterialError, Reason
from taskseal.keys.algorithms import Algorithm, PublicKey
from taskseal.keys.entry import KEYSET_PROFILES, KeyEntry, is_profile_id
from taskseal.keys.pins import Pins
from taskseal.keys.shape import Shape
from taskseal.keys.version import readable_key_version
from taskseal.validity import SECOND, Instant, read_instant, to_datetime
from taskseal.wire.sshsig import namespace_of, public_blob, read_public_blob

FOREVER = read_instant("9999-12-31T23:59:59Z") or 0
"""The end of a key whose line names none."""

# OpenSSH reads these as a pattern, a list, a comment or a quotation.
_PRINCIPAL = re.compile(r"[!-~]+")
_SPECIAL = re.compile(r'[*?!,#"\\]')
_COMMENT = "".join(map(chr, range(0x21, 0x7F))).replace("%", "")
_NAMESPACE = re.compile(r"taskseal\.(.+)\.(v[0-9]+)")
_TIME = re.compile(r"([0-9]{8})(?:([0-9]{4})([0-9]{2})?)?Z")
_OPTION = re.compile(r'([a-zA-Z-]+)(?:="([^"]*)")?(,|$)')
_FIELD = re.compile(r'\s*((?:[^\s"]|"[^"]*")+)')


class Written(NamedTuple):
    """The file, and what of the keys it does not say."""

    data: bytes
    notes: tuple[str, ...]


def write_allowed_signers(entries: Iterable[KeyEntry]) -> Written:
    """The keys of ``entries`` that OpenSSH can use, one a line.

    A key stands until acceptUntil, or until it is revoked. OpenSSH does not read what a document
    says of its own time: the overlap in which a retired key verifies older messages only is to it
    a time like any other.

    Raises:
        InputError: ``usage`` when an issuer cannot be a principal.
    """
    lines, notes = [], []
    for entry in entries:
        line = _line(entry)
        if line is None:
            notes.append(f"key version {entry.key_version!a} is none that OpenSSH could use")
        else:
            lines.append(line)
    return Written("".join(line + "\n" for line in lines).encode(), tuple(notes))


def _line(entry: KeyEntry) -> str | None:
    spaces = [namespace_of(each) for each in sorted(entry.profiles - KEYSET_PROFILES)]
    end = entry.accept_until
    if entry.revoked_at is not None:
        end = min(end, entry.revoked_at)
    key = entry.key
    blob = None if key is None else public_blob(key.algorithm, key.raw)
    if blob is None or not spaces or end <= entry.not_before:
        return None
    if not _PRINCIPAL.fullmatch(entry.issuer) or _SPECIAL.search(entry.issuer):
        raise InputError(
            Reason.USAGE,
            f"the issuer {entry.issuer!a} cannot be a principal of OpenSSH",
            hint='it takes printable ASCII without blanks and without *?!,#"\\',
        )
    start = -(-entry.not_before // SECOND)
    # OpenSSH takes the last second too.
    last = -(-end // SECOND) - 1
    if last < start:
        return None
    options = [f'namespaces="{",".join(spaces)}"']
    options += [f'valid-after="{_stamp(start)}"'] if start > 0 else []
    options += [f'valid-before="{_stamp(last)}"'] if last > 0 else []
    kind = blob[4 : 4 + int.from_bytes(blob[:4], "big")].decode()
    comment = quote(entry.key_version, safe=_COMMENT, errors="surrogatepass")
    return f"{entry.issuer} {','.join(options)} {kind} {b64encode(blob).decode()} {comment}"


def _stamp(second: int) -> str:
    return to_datetime(second * SECOND).strftime("%Y%m%d%H%M%SZ")


def read_allowed_signers(data: bytes, source: str = "allowed_signers") -> Pins:
    """The pins that an ``allowed_signers`` file gives.

    Lines that name no profile of ours, certificate authorities among them, are left out and
    noted. A line without ``valid-before`` gives a key without an end.

    Raises:
        MaterialError: ``trust_malformed`` with the line's number; as :meth:`Pins.of`.
    """
    shape = Shape(source, Reason.TRUST_MALFORMED)
    try:
        lines = data.decode().replace("\r\n", "\n").split("\n")
    except UnicodeDecodeError:
        raise shape.fault("", "it is not UTF-8") from None
    entries, notes = [], []
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        entry = _entry(line, number, shape)
        if entry is None:
            notes.append(f"line {number} names no profile and is left out")
        else:
            entries.append(entry)
    if not entries:
        raise shape.fault("", "no line names a profile", 'such as namespaces="taskseal.…"')
    pins = Pins.of(entries)
    return Pins(pins.issuer, pins.entries, (*notes, *pins.notes))


def _entry(line: str, number: int, shape: Shape) -> KeyEntry | None:
    principal, rest = _field(line)
    options, after = _options(rest, number, shape)
    kind, rest = _field(after)
    text, comment = _field(rest)
    if not kind or not text:
        raise _fault(shape, number, "a line holds principal, options, key type and key")
    spaces = options.get("namespaces", "").split(",")
    profiles = frozenset(each for each in map(_profile, spaces) if each is not None)
    if not profiles or "cert-authority" in options:
        return None
    principal = principal.removeprefix('"').removesuffix('"')
    if _SPECIAL.search(principal):
        raise _fault(shape, number, "the principal is a pattern or a list; name one issuer")
    key = _key(kind, text, number, shape)
    start = _time(options.get("valid-after"), number, shape)
    last = _time(options.get("valid-before"), number, shape)
    end = FOREVER if last is None else last + SECOND
    begin = 0 if start is None else start
    if end <= begin:
        raise _fault(shape, number, "valid-before lies before valid-after")
    version = unquote(comment.strip(), errors="surrogatepass") or f"sha256:{key.thumbprint}"
    if readable_key_version(version) is None:
        raise _fault(shape, number, "the comment is no key version")
    return KeyEntry(
        issuer=principal,
        key_version=version,
        key=key,
        not_before=begin,
        sign_from=begin,
        sign_until=end,
        accept_until=end,
        profiles=profiles,
    )


def _field(text: str) -> tuple[str, str]:
    """The first field of a line, in which quotation marks may hold blanks, and the rest."""
    found = _FIELD.match(text)
    return ("", "") if found is None else (found[1], text[found.end() :])


def _options(text: str, number: int, shape: Shape) -> tuple[dict[str, str], str]:
    """The options, which may be left out, and what follows them."""
    field, rest = _field(text)
    if field.startswith(("ssh-", "ecdsa-", "sk-")):
        return {}, text
    options: dict[str, str] = {}
    at = 0
    while at < len(field):
        found = _OPTION.match(field, at)
        name = "" if found is None else found[1].lower()
        known = name in ("namespaces", "valid-after", "valid-before", "cert-authority")
        if found is None or not known or name in options:
            raise _fault(shape, number, f"the options {field[:60]!a} are not understood")
        options[name] = found[2] or ""
        at = found.end()
    return options, rest


def _profile(namespace: str) -> str | None:
    found = _NAMESPACE.fullmatch(namespace)
    name = "" if found is None else f"{found[1]}/{found[2]}"
    return name if is_profile_id(name) else None


def _key(kind: str, text: str, number: int, shape: Shape) -> PublicKey:
    try:
        blob = b64decode(text, validate=True)
        holder = read_public_blob(blob)
        key = PublicKey(Algorithm(holder.algorithm), holder.point)
    except (binascii.Error, ValueError, InputError, MaterialError) as fault:
        detail = getattr(fault, "detail", "it is not base64")
        raise _fault(shape, number, f"the key cannot be used: {detail}") from None
    if not blob[4:].startswith(kind.encode()):
        raise _fault(shape, number, "the key is of another type than the line says")
    return key


def _time(text: str | None, number: int, shape: Shape) -> Instant | None:
    if text is None:
        return None
    found = _TIME.fullmatch(text)
    if found is None:
        raise _fault(shape, number, f"{text[:40]!a} is not YYYYMMDD[HHMM[SS]]Z")
    stamp = found[1] + (found[2] or "0000") + (found[3] or "00")
    try:
        at = datetime.strptime(stamp, "%Y%m%d%H%M%S").replace(tzinfo=UTC)
    except ValueError:
        raise _fault(shape, number, f"{text!a} is no time") from None
    second = int(at.timestamp())
    if second < 0:
        raise _fault(shape, number, f"{text!a} lies before 1970")
    return second * SECOND


def _fault(shape: Shape, number: int, detail: str) -> MaterialError:
    return shape.fault("", f"line {number}: {detail}")
