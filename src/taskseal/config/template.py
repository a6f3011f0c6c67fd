"""The configuration that ``taskseal init`` writes: every member, explained, and none in force.

Source: SPEC section 9.
"""

from __future__ import annotations

import json

from taskseal.errors import InputError, Reason

_TEMPLATE = """\
# taskseal.toml: who this receiver is, whom it trusts for what, and what it allows.
# Paths are relative to this file. Spans are such as "90s", "15m", "24h", "7d".
# `taskseal doctor` says what it comes to. Only its owner may be able to write it.

[receiver]
# Who it is: one of these at least. A member that is not named is not compared.
# audience = "worker-1"
# organization = "org_example"
# workspace = "ws_example"
# device = "dev_example"
# any = true                        # instead of them: take what is meant for anyone

# What was accepted before; else TASKSEAL_LEDGER, else in the user state directory.
# ledger = "sqlite:accepted.db"

# How long a worker has for a message before it counts as in doubt.
# lease = "10m"

# The key that signs what is handed back, and how long that is kept for repeats.
{keyring}
# sign_with = "receiver/1"          # taskseal keys new receiver/1 --for taskseal.acceptance/v1
# keep_acceptances = "7d"

# Who it is among AISA tasks, for a ready answer to what it does not know.
# [receiver.aisa]
# task_id = "task-1"
# profile_key = "worker"
# profile_version = 1
# task_path = "root/worker"

# Whose keys count. One table a source; it can only take away from what the source says.
# [[trust]]
# pins = "pins.json"                # a file of pins or a keyset; or a store's folder:
# store = "trust"                   # kept by `taskseal trust add`
# issuer = "desk"                   # whose they must be
# pin = ["root/1=sha256:..."]       # keys that must be in the pins, or sign the first keyset
# min_generation = 1                # of its keyset, for machines that forget their disks
# profiles = ["dharma.task/v1"]     # nothing else counts
# bind = {{ "/organizationId" = ["org_example"] }}

# What holds for every profile.
# [policy]
# forms = ["embedded", "jws", "jws-detached"]
# max_lifetime = "24h"              # shortens what a profile sets, never lengthens it
# future_skew = "300s"
# past_skew = "0s"
# max_age = "1h"                    # of a message that nothing else ends
# require_artefacts = false
# require_receipt = false           # a Dharma task needs a decision to release it
# allow_truncated = false

# What holds for one profile instead.
# [policy."dharma.task/v1"]
# max_lifetime = "1h"
# require_receipt = true
# ceiling = "ceiling.json"          # a JSON Schema that its messages must fit as well

# Profiles of your own.
# [[profile]]
# file = "my.profile.toml"
"""


def written(keyring: str | None) -> bytes:
    """The file; it names ``keyring`` where there is one.

    Raises:
        InputError: ``usage`` when that cannot be written in TOML.
    """
    line = '# keyring = "keyring"'
    if keyring is not None:
        # A basic string of TOML takes every escape that JSON writes.
        name = json.dumps(keyring, ensure_ascii=False).replace("\x7f", "\\u007f")
        line = f"keyring = {name}"
    try:
        return _TEMPLATE.format(keyring=line).encode()
    except UnicodeEncodeError:
        raise InputError(
            Reason.USAGE, f"{keyring!a} is no Unicode, which TOML is", hint="rename the folder"
        ) from None
