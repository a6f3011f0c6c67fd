"""Whether a message names the algorithm of its key.

Source: SPEC sections 4.1 and 5.1.
"""

from __future__ import annotations

from taskseal.canon.pointer import resolve
from taskseal.errors import InputError, Reason
from taskseal.keys.algorithms import Algorithm, named_algorithm, scheme
from taskseal.verify.examination import Examination


def algorithm_fault(mine: Algorithm, alg: object, profile: str) -> tuple[Reason, str] | None:
    """Why a message of ``profile`` that names ``alg`` is none of a key of ``mine``, or None.

    ``alg`` is None where the message has no place for a name: then it is Ed25519.
    """
    if alg is None:
        if mine is Algorithm.ED25519:
            return None
        return Reason.ALGORITHM_MISMATCH, f"{profile} is signed with {Algorithm.ED25519}"
    if not isinstance(alg, str):
        return Reason.UNSUPPORTED_ALGORITHM, "it names no algorithm"
    theirs = named_algorithm(alg)
    if theirs is None:
        return Reason.UNSUPPORTED_ALGORITHM, f"{alg[:60]!r}"
    return None if theirs is mine else (Reason.ALGORITHM_MISMATCH, f"the key's is {mine}")


def check_signing_algorithm(exam: Examination, form: str, name: str | None) -> None:
    """Whether the signer's key may sign in ``form``, and be called ``name`` there.

    Raises:
        InputError: ``usage`` when ``name`` is none of the key's algorithm.
        Refused: an embedded form asks for another algorithm, or names another.
    """
    assert exam.entry is not None and exam.entry.key is not None
    mine = exam.entry.key.algorithm
    if name is not None and name not in scheme(mine).jose_names:
        names = " or ".join(sorted(scheme(mine).jose_names))
        raise InputError(
            Reason.USAGE, f"the key's algorithm is not called {name[:60]!r}", hint=f"it is {names}"
        )
    if form == "embedded":
        pointer = exam.kind.algorithm
        alg = None if pointer is None else resolve(exam.envelope, pointer)
        fault = algorithm_fault(mine, alg, exam.kind.id)
        if fault is not None:
            exam.fail("key", *fault, pointer)
