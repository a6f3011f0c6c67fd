"""A2A agent cards: what of a card its signatures cover.

The specification signs a card as Protocol Buffers would write it again: members without a value
of their own are left out. What counts as such follows from each member's label in ``a2a.proto``,
which the table below repeats; what the table does not know is left as it is.

The SDKs for Python and JavaScript leave out more, every empty text, array and object, also where
the specification keeps them. A card that differs under the two is read either way.

Source: A2A specification sections 5.7 and 8.4.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from taskseal.profiles.base import Envelope, Profile
from taskseal.profiles.schema import Schema

SIZE_LIMIT = 1024 * 1024
"""Bytes."""
SIGNATURES = "signatures"
SDK_RULE = "a2a-sdk"
"""What a verdict calls the SDKs' way of leaving out."""

_MAP = "*"


class _Message(NamedTuple):
    """A message of ``a2a.proto``: members that are left out when they are empty, those that stay,
    and the kind of what is in them; ``*`` before a kind makes it a map."""

    dropped: frozenset[str]
    kept: frozenset[str]
    inner: Mapping[str, str]


def _message(dropped: str, kept: str, **inner: str) -> _Message:
    return _Message(frozenset(dropped.split()), frozenset(kept.split()), inner)


_MESSAGES: Mapping[str, _Message] = {
    "AgentCard": _message(
        "securitySchemes securityRequirements",
        "name description supportedInterfaces provider version documentationUrl capabilities "
        "defaultInputModes defaultOutputModes skills iconUrl",
        supportedInterfaces="AgentInterface",
        provider="AgentProvider",
        capabilities="AgentCapabilities",
        securitySchemes="*SecurityScheme",
        securityRequirements="SecurityRequirement",
        skills="AgentSkill",
    ),
    "AgentInterface": _message("tenant", "url protocolBinding protocolVersion"),
    "AgentProvider": _message("", "url organization"),
    "AgentCapabilities": _message(
        "extensions",
        "streaming pushNotifications extendedAgentCard",
        extensions="AgentExtension",
    ),
    "AgentExtension": _message("uri description required", "params"),
    "AgentSkill": _message(
        "examples inputModes outputModes securityRequirements",
        "id name description tags",
        securityRequirements="SecurityRequirement",
    ),
    "SecurityRequirement": _message("schemes", "", schemes="*StringList"),
    "StringList": _message("list", ""),
    "SecurityScheme": _message(
        "",
        "apiKeySecurityScheme httpAuthSecurityScheme oauth2SecurityScheme "
        "openIdConnectSecurityScheme mtlsSecurityScheme",
        apiKeySecurityScheme="APIKey",
        httpAuthSecurityScheme="HTTPAuth",
        oauth2SecurityScheme="OAuth2",
        openIdConnectSecurityScheme="OpenIdConnect",
        mtlsSecurityScheme="MutualTls",
    ),
    "APIKey": _message("description", "location name"),
    "HTTPAuth": _message("description bearerFormat", "scheme"),
    "OAuth2": _message("description oauth2MetadataUrl", "flows", flows="OAuthFlows"),
    "OpenIdConnect": _message("description", "openIdConnectUrl"),
    "MutualTls": _message("description", ""),
    "OAuthFlows": _message(
        "",
        "authorizationCode clientCredentials implicit password deviceCode",
        authorizationCode="AuthorizationCode",
        clientCredentials="ClientCredentials",
        implicit="Implicit",
        password="Password",
        deviceCode="DeviceCode",
    ),
    "AuthorizationCode": _message("refreshUrl pkceRequired", "authorizationUrl tokenUrl scopes"),
    "ClientCredentials": _message("refreshUrl", "tokenUrl scopes"),
    "Implicit": _message("authorizationUrl refreshUrl scopes", ""),
    "Password": _message("tokenUrl refreshUrl scopes", ""),
    "DeviceCode": _message("refreshUrl", "deviceAuthorizationUrl tokenUrl scopes"),
}


def recognise(value: Any) -> bool:
    """A card has a name, capabilities and skills, and no mark of another kind of document."""
    return (
        type(value) is dict
        and "schema" not in value
        and "type" not in value
        and type(value.get("name")) is str
        and type(value.get("capabilities")) is dict
        and type(value.get("skills")) is list
    )


def covered(card: Envelope) -> Iterator[tuple[str, dict[str, Any]]]:
    """What signatures may cover: the card by the specification, then by the SDKs if they differ."""
    bare = {name: item for name, item in card.items() if name != SIGNATURES}
    whole = _message_of(bare, "AgentCard")
    yield "rfc8785", whole
    lean = _lean(whole, "AgentCard")
    if lean is not None and lean != whole:
        yield SDK_RULE, lean


def _message_of(value: dict[str, Any], kind: str) -> dict[str, Any]:
    """A message without its unset members and those that only repeat a default."""
    message = _MESSAGES[kind]
    kept = {}
    for name, item in value.items():
        known = name in message.dropped or name in message.kept
        if item is None and known:
            continue
        inner = message.inner.get(name)
        made = item if inner is None else _within(item, inner)
        if name not in message.dropped or not _is_default(made):
            kept[name] = made
    return kept


def _within(value: Any, kind: str) -> Any:
    """One message, each of an array of them, or each value of a map."""
    if kind.startswith(_MAP):
        kind = kind.removeprefix(_MAP)
        if type(value) is not dict:
            return value
        return {name: _one(item, kind) for name, item in value.items()}
    if type(value) is list:
        return [_one(item, kind) for item in value]
    return _one(value, kind)


def _one(value: Any, kind: str) -> Any:
    return _message_of(value, kind) if type(value) is dict else value


def _is_default(value: Any) -> bool:
    return value is False or value == 0 or value in ("", [], {})


def _is_empty(value: Any) -> bool:
    return value is None or value in ("", [], {})


def _lean(value: dict[str, Any], kind: str) -> dict[str, Any] | None:
    """``value`` without members that are empty; None where more than a known member is.

    The SDKs also drop empty elements of arrays and what is empty in maps and in extensions'
    parameters. Whoever added such a thing to a signed card would change what the card says, an
    empty security requirement above all, so that no signature counts that does not cover it.
    """
    message, kept = _MESSAGES[kind], {}
    for name, item in value.items():
        if name in message.dropped or name in message.kept:
            inner = message.inner.get(name)
            lean = _lean_within(item, inner) if inner is not None else item
            if lean is None or (inner is None and not _is_empty(item) and _holds_empty(item)):
                return None
            if not _is_empty(lean):
                kept[name] = lean
        elif _is_empty(item) or _holds_empty(item):
            return None
        else:
            kept[name] = item
    return kept


def _lean_within(value: Any, kind: str) -> Any:
    if type(value) is dict and not kind.startswith(_MAP):
        return _lean(value, kind)
    if type(value) not in (dict, list):
        return value if value is not None else ""
    bare = kind.removeprefix(_MAP)
    pairs = list(value.items() if type(value) is dict else enumerate(value))
    made = [(name, _lean(item, bare) if type(item) is dict else item) for name, item in pairs]
    if any(_is_empty(item) for _, item in made):
        return None
    return dict(made) if type(value) is dict else [item for _, item in made]


def _holds_empty(value: Any) -> bool:
    """Whether anything inside ``value`` is empty."""
    pending = [value]
    while pending:
        item = pending.pop()
        inside = item.values() if type(item) is dict else item if type(item) is list else ()
        for each in inside:
            if _is_empty(each):
                return True
            pending.append(each)
    return False


AGENT_CARD = Profile(
    id="a2a.agent-card/v1",
    title="A2A agent card",
    recognise=recognise,
    schema=Schema.named("a2a.agent-card.v1"),
    forms=("a2a",),
    covered=covered,
    timeless=True,
    max_lifetime=None,
    size_limit=SIZE_LIMIT,
)
"""Agent cards. A repeat does no harm: the same card is fetched again and again."""
