"""Agent cards: what a signature covers, by the specification and by the SDKs."""

from __future__ import annotations

from typing import Any

import pytest

from taskseal.canon.jcs import canonicalise
from taskseal.profiles import AGENT_CARD, BUILT_IN
from taskseal.profiles.a2a import SDK_RULE, covered, recognise


def spec(card: dict[str, Any]) -> dict[str, Any]:
    return dict(covered(card))["rfc8785"]


def sdk(card: dict[str, Any]) -> dict[str, Any] | None:
    return dict(covered(card)).get(SDK_RULE)


BARE: dict[str, Any] = {"name": "n", "capabilities": {"streaming": True}, "skills": [{"id": "s"}]}


def test_signatures_are_not_covered() -> None:
    assert spec({**BARE, "signatures": [1]}) == BARE


def test_required_and_optional_members_stay_and_others_go_when_they_are_empty() -> None:
    card = {
        "name": "",
        "description": "",
        "documentationUrl": "",
        "provider": {},
        "capabilities": {"streaming": False, "extensions": [], "extendedAgentCard": False},
        "securitySchemes": {},
        "securityRequirements": [],
        "defaultInputModes": [],
        "skills": [
            {"id": "", "tags": [], "examples": [], "inputModes": [], "securityRequirements": []}
        ],
        "supportedInterfaces": [{"url": "", "tenant": ""}],
    }
    assert spec(card) == {
        "name": "",
        "description": "",
        "documentationUrl": "",
        "provider": {},
        "capabilities": {"streaming": False, "extendedAgentCard": False},
        "defaultInputModes": [],
        "skills": [{"id": "", "tags": []}],
        "supportedInterfaces": [{"url": ""}],
    }


def test_null_is_unset_but_not_in_open_content() -> None:
    card = {**BARE, "iconUrl": None, "other": None}
    card["capabilities"] = {"extensions": [{"uri": "u", "params": {"a": None, "b": []}}]}
    assert spec(card) == {
        **BARE,
        "other": None,
        "capabilities": {"extensions": [{"uri": "u", "params": {"a": None, "b": []}}]},
    }


def test_messages_in_arrays_and_maps_are_looked_into() -> None:
    card = {
        **BARE,
        "securitySchemes": {
            "k": {"apiKeySecurityScheme": {"name": "", "location": "header", "description": ""}},
            "o": {
                "oauth2SecurityScheme": {
                    "oauth2MetadataUrl": "",
                    "flows": {
                        "authorizationCode": {
                            "authorizationUrl": "a",
                            "tokenUrl": "",
                            "refreshUrl": "",
                            "pkceRequired": False,
                            "scopes": {},
                        },
                        "implicit": {"authorizationUrl": "", "scopes": {}},
                    },
                }
            },
        },
        "securityRequirements": [{"schemes": {"k": {"list": []}}}],
        "capabilities": {"extensions": [{"uri": "", "required": False, "description": ""}]},
    }
    assert spec(card) == {
        **BARE,
        "securitySchemes": {
            "k": {"apiKeySecurityScheme": {"name": "", "location": "header"}},
            "o": {
                "oauth2SecurityScheme": {
                    "flows": {
                        "authorizationCode": {
                            "authorizationUrl": "a",
                            "tokenUrl": "",
                            "scopes": {},
                        },
                        "implicit": {},
                    }
                }
            },
        },
        "securityRequirements": [{"schemes": {"k": {}}}],
        "capabilities": {"extensions": [{}]},
    }


def test_what_the_table_does_not_know_is_left_as_it_is() -> None:
    card = {**BARE, "url": "", "security": [], "skills": [{"id": "s", "later": {}}]}
    assert spec(card) == card
    assert sdk(card) is None


def test_the_sdks_form_is_another_only_where_a_known_member_is_empty() -> None:
    assert sdk(BARE) is None
    found = sdk({**BARE, "description": "", "capabilities": {}, "provider": {}})
    assert found == {"name": "n", "skills": [{"id": "s"}]}


@pytest.mark.parametrize(
    "more",
    [
        {"securityRequirements": [{}]},
        {"securityRequirements": [{"schemes": {"k": {}}}]},
        {"securitySchemes": {"k": {}}},
        {"defaultInputModes": ["text/plain", ""]},
        {"capabilities": {"extensions": [{"uri": "u", "params": {"deny": []}}]}},
        {"unknown": ""},
        {"unknown": {"x": []}},
    ],
)
def test_what_the_sdks_would_overlook_is_never_overlooked_here(more: dict[str, Any]) -> None:
    """The description alone would have a second form; what was added beside it takes that away."""
    assert sdk({**BARE, "description": ""}) is not None
    assert sdk({**BARE, "description": "", **more}) is None


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        {},
        {**BARE, "type": "Plan"},
        {**BARE, "schema": "x"},
        {**BARE, "name": 1},
        {**BARE, "capabilities": []},
        {**BARE, "skills": {}},
    ],
)
def test_other_documents_are_no_cards(value: Any) -> None:
    assert not recognise(value)


def test_a_card_is_a_profile_without_times_and_replay_ids() -> None:
    assert BUILT_IN["a2a.agent-card/v1"] is AGENT_CARD
    assert (AGENT_CARD.form, AGENT_CARD.replay, AGENT_CARD.timeless) == ("a2a", (), True)
    assert not AGENT_CARD.bare
    assert AGENT_CARD.schema is not None
    assert AGENT_CARD.schema.fault(BARE) is None
    assert canonicalise(spec(BARE)).startswith(b'{"capabilities"')
