"""``acceptance``: whether what a receiver handed back belongs to what was sent.

Source: SPEC sections 7 and 9.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from taskseal.cli import open as opening
from taskseal.cli import output, verdict
from taskseal.cli.desk import artefacts_given
from taskseal.cli.main import SETTINGS, LazyGroup
from taskseal.cli.options import (
    FILE,
    artefact_option,
    at_option,
    profile_option,
    published_option,
    signature_option,
    trust_option,
)
from taskseal.cli.verify import code_of

if TYPE_CHECKING:
    from taskseal import Accepted, Refused


@click.group(
    cls=LazyGroup,
    context_settings=SETTINGS,
    homes={"verify": "acceptance:verify"},
)
@output.json_option
def acceptance() -> None:
    """Check what a receiver handed back."""


@click.command(context_settings=SETTINGS)
@click.argument("request", metavar="REQUEST", type=FILE)
@click.argument("answer", metavar="ACCEPTANCE", type=FILE)
@trust_option
@profile_option
@signature_option
@artefact_option
@click.option("--allow-partial", is_flag=True, help="Take it though something was not checked.")
@at_option("Verify")
@published_option
@output.json_option
def verify(request: str, answer: str, at: str | None, **given: Any) -> int:
    """Prove that ACCEPTANCE is a receiver's word on REQUEST.

    --trust names the receiver's keys. --profile and --signature are of the request; the
    answer that came back with the acceptance is --artefact outcome=PATH. - is standard
    input.

    \b
    Example:
      taskseal acceptance verify sealed.json acceptance.json --trust receiver-pins.json
    """
    found = _verify(request, answer, opening.instant(at), given)
    if output.wants_json():
        output.record(found.to_json())
    else:
        _tell(answer, found)
    return code_of(found)


def _verify(request: str, answer: str, at: int | None, given: dict[str, Any]) -> Accepted | Refused:
    from taskseal import Policy, Refused, Verifier, verify_acceptance

    keys = opening.trust(given["trust"])
    profile = opening.profile_named(given["profile"])
    named = artefacts_given(given["artefact"])
    asked = opening.read_input(request, opening.MESSAGE_LIMIT)
    beside = given["signature"]
    signature = None if beside is None else opening.read_input(beside, opening.SIDE_FILE_LIMIT)
    read = opening.message(answer, None)
    if isinstance(read, Refused):
        return read
    policy = Policy(allow_published_keys=given["allow_published_keys"])
    return verify_acceptance(
        asked,
        read[0],
        Verifier(keys, policy),
        profile=profile,
        signature=signature,
        artefacts=named,
        allow_partial=given["allow_partial"],
        at=at,
    )


def _tell(name: str, found: Accepted | Refused) -> None:
    from taskseal import Refused

    if isinstance(found, Refused):
        verdict.refused(name, found)
        return
    said = found.envelope
    verdict.heading("accepted", "good", name)
    outcome = said["outcome"]
    output.fields(
        [
            ("receiver", f"{found.signer.key_version} of {found.signer.issuer}"),
            ("thumbprint", found.signer.thumbprint),
            ("request", f"{said['profile']}, {said['digest']}"),
            ("received", said["receivedAt"]),
            ("accepted", said["acceptedAt"]),
            ("kept until", said["keptUntil"]),
            ("outcome", None if outcome is None else f"{outcome['kind']}, {outcome['digest']}"),
            ("left out there", list(said["unchecked"]) or "nothing"),
            ("unchecked here", list(found.unchecked) or "nothing"),
        ]
    )
