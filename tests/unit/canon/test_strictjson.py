"""The strict reader: what it takes, and for everything else the code, the place and the byte."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from taskseal.canon import locate
from taskseal.canon.strictjson import Parsed, parse
from taskseal.canon.writer import encode
from taskseal.errors import InputError, Reason

R = Reason
DEEP_ARRAY = b"[" * 129 + b"]" * 129
DEEP_OBJECT = b'{"a":' * 129 + b"1" + b"}" * 129


def fault(data: bytes, exact: bool = True) -> tuple[Reason, str | None, int | None]:
    with pytest.raises(InputError) as caught:
        parse(data, exact=exact)
    return caught.value.code, caught.value.pointer, caught.value.offset


@pytest.mark.parametrize(
    ("data", "code", "pointer", "offset"),
    [
        # malformed_json
        (b"", R.MALFORMED_JSON, "", 0),
        (b"  ", R.MALFORMED_JSON, "", 2),
        (b"[1,2", R.MALFORMED_JSON, "/1", 4),
        (b"[1,]", R.MALFORMED_JSON, "/1", 3),
        (b"[1 2]", R.MALFORMED_JSON, "/0", 3),
        (b'{"a":1,}', R.MALFORMED_JSON, "", 7),
        (b'{"a" 1}', R.MALFORMED_JSON, "/a", 5),
        (b'{"a":}', R.MALFORMED_JSON, "/a", 5),
        (b"{a:1}", R.MALFORMED_JSON, "", 1),
        (b"{'a':1}", R.MALFORMED_JSON, "", 1),
        (b'{"a":[NaN]}', R.MALFORMED_JSON, "/a/0", 6),
        (b"Infinity", R.MALFORMED_JSON, "", 0),
        (b"[-Infinity]", R.MALFORMED_JSON, "/0", 1),
        (b"nul", R.MALFORMED_JSON, "", 0),
        (b"True", R.MALFORMED_JSON, "", 0),
        (b"01", R.MALFORMED_JSON, "", 1),
        (b"[-]", R.MALFORMED_JSON, "/0", 1),
        (b"[+1]", R.MALFORMED_JSON, "/0", 1),
        (b"[1.]", R.MALFORMED_JSON, "/0", 2),
        (b"[.5]", R.MALFORMED_JSON, "/0", 1),
        (b"[1e]", R.MALFORMED_JSON, "/0", 2),
        (b"[0x10]", R.MALFORMED_JSON, "/0", 2),
        (b'"a', R.MALFORMED_JSON, "", 2),
        (b'"a\nb"', R.MALFORMED_JSON, "", 2),
        (b'"a\x00"', R.MALFORMED_JSON, "", 2),
        (b'"a\x1fb"', R.MALFORMED_JSON, "", 2),
        (b'"\\x41"', R.MALFORMED_JSON, "", 1),
        (b'"\\u12G4"', R.MALFORMED_JSON, "", 1),
        (b'"\\u12"', R.MALFORMED_JSON, "", 1),
        (b'"\\', R.MALFORMED_JSON, "", 1),
        (b"{} {}", R.MALFORMED_JSON, "", 3),
        (b"{}x", R.MALFORMED_JSON, "", 2),
        (b"1\x00", R.MALFORMED_JSON, "", 1),
        (b"[1]\xef\xbb\xbf", R.MALFORMED_JSON, "", 3),
        (b"\xc2\xa0[]", R.MALFORMED_JSON, "", 0),
        (b"\x0b[]", R.MALFORMED_JSON, "", 0),
        (b"/**/[]", R.MALFORMED_JSON, "", 0),
        (b"]", R.MALFORMED_JSON, "", 0),
        (b"[}", R.MALFORMED_JSON, "/0", 1),
        (b'{"a":1]', R.MALFORMED_JSON, "/a", 6),
        ("[١]".encode(), R.MALFORMED_JSON, "/0", 1),
        # not_utf8
        (b"\xef\xbb\xbf{}", R.NOT_UTF8, "", 0),
        (b'["\xff"]', R.NOT_UTF8, "", 2),
        (b'["\xc0\x80"]', R.NOT_UTF8, "", 2),
        (b'["\xed\xa0\x80"]', R.NOT_UTF8, "", 2),
        ("{}".encode("utf-16"), R.NOT_UTF8, "", 0),
        (b'["\xf4\x90\x80\x80"]', R.NOT_UTF8, "", 2),
        # duplicate_member
        (b'{"a":1,"a":1}', R.DUPLICATE_MEMBER, "/a", 7),
        (b'{"a":1,"\\u0061":2}', R.DUPLICATE_MEMBER, "/a", 7),
        (b'{"a":[{"x/y":1,"b":2,"x\\/y":3}]}', R.DUPLICATE_MEMBER, "/a/0/x~1y", 21),
        ('{"é":1,"\\u00e9":2}'.encode(), R.DUPLICATE_MEMBER, "/é", 8),
        (b'{"\\"":1,"\\u0022":2}', R.DUPLICATE_MEMBER, '/"', 8),
        (b'{"":1,"":1}', R.DUPLICATE_MEMBER, "/", 6),
        # lone_surrogate
        (b'{"a":"\\ud800"}', R.LONE_SURROGATE, "/a", 6),
        (b'{"\\udc00":1}', R.LONE_SURROGATE, "", 2),
        (b'"\\udc00\\ud800"', R.LONE_SURROGATE, "", 1),
        (b'"\\ud800\\ud800"', R.LONE_SURROGATE, "", 1),
        (b'"\\ud800x"', R.LONE_SURROGATE, "", 1),
        (b'"\\ud800\\n"', R.LONE_SURROGATE, "", 1),
        # numbers
        (b"[9007199254740992]", R.INTEGER_OUT_OF_RANGE, "/0", 1),
        (b"[-9007199254740992]", R.INTEGER_OUT_OF_RANGE, "/0", 1),
        (b'{"n":18446744073709551616}', R.INTEGER_OUT_OF_RANGE, "/n", 5),
        (b"1" + b"0" * 22, R.INTEGER_OUT_OF_RANGE, "", 0),
        (b"[-" + b"1" * 5000 + b"]", R.INTEGER_OUT_OF_RANGE, "/0", 1),
        (b"[1e400]", R.NUMBER_OUT_OF_RANGE, "/0", 1),
        (b"[-1.5E+999999999999999999999]", R.NUMBER_OUT_OF_RANGE, "/0", 1),
        (b"[" + b"1" * 5000 + b".5]", R.NUMBER_OUT_OF_RANGE, "/0", 1),
        (b"[9007199254740990.9]", R.NUMBER_NOT_EXACT, "/0", 1),
        (b"[1e-400]", R.NUMBER_NOT_EXACT, "/0", 1),
        (b"[-1e-99999999999999999999]", R.NUMBER_NOT_EXACT, "/0", 1),
        (b"[1e-" + b"9" * 5000 + b"]", R.NUMBER_NOT_EXACT, "/0", 1),
        (b"[4503599627370497.1]", R.NUMBER_NOT_EXACT, "/0", 1),
        (b"[0." + b"0" * 400 + b"1]", R.NUMBER_NOT_EXACT, "/0", 1),
        (b"[1." + b"0" * 400 + b"1]", R.NUMBER_NOT_EXACT, "/0", 1),
        (b"[1e22,9007199254740993.5]", R.NUMBER_NOT_EXACT, "/1", 6),
        # nesting_too_deep
        (DEEP_ARRAY, R.NESTING_TOO_DEEP, "/0" * 128, 128),
        (DEEP_OBJECT, R.NESTING_TOO_DEEP, "/a" * 128, 128 * 5),
        (b"[" * 129, R.NESTING_TOO_DEEP, "/0" * 128, 128),
        (b"[" * 40_000, R.NESTING_TOO_DEEP, "/0" * 128, 128),
        (b'{"a":' * 40_000, R.NESTING_TOO_DEEP, "/a" * 128, 128 * 5),
        (b"[" * 300 + b"]" * 300, R.NESTING_TOO_DEEP, "/0" * 128, 128),
    ],
)
def test_a_refusal_names_the_code_the_place_and_the_byte(
    data: bytes, code: Reason, pointer: str, offset: int
) -> None:
    assert fault(data) == (code, pointer, offset)
    assert fault(data, exact=False) == (code, pointer, offset)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"9007199254740992.0", b"9007199254740992"),
        (b"1e20", b"100000000000000000000"),
        (b"-9.007199254740993e15", b"-9007199254740992"),
        (b"999999999999999900000E0", b"999999999999999900000"),
        (b"999999999999999999999.0", b"1e+21"),
    ],
)
def test_integral_numbers_that_would_not_be_read_back_only_print(
    data: bytes, expected: bytes
) -> None:
    text = b'{"n":[' + data + b"]}"
    assert fault(text) == (R.INTEGER_OUT_OF_RANGE, "/n/0", 6)
    parsed = parse(text, exact=False)
    assert not parsed.canonical
    assert not parsed.plain
    assert [str(number) for number in parsed.value["n"]] == [str(float(data))]
    assert encode(parsed.value, plain=parsed.plain) == b'{"n":[' + expected + b"]}"


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b"0", 0),
        (b"-0", 0),
        (b"-0.0", 0),
        (b"0e5", 0),
        (b"-0E-99999999999999999999", 0),
        (b"0e" + b"9" * 5000, 0),
        (b"1.0", 1),
        (b"100e-2", 1),
        (b"1E+2", 100),
        (b"10" + b"0" * 5000 + b"e-5001", 1),
        (b"0." + b"0" * 5000 + b"1e5001", 1),
        (b"0.5e1", 5),
        (b"9007199254740991.0", 2**53 - 1),
        (b"-9007199254740991", -(2**53) + 1),
        (b"0.5", 0.5),
        (b"1.0e-5", 1e-5),
        (b"1e21", 1e21),
        (b"1000000000000000000000.0", 1e21),
        (b"1.7976931348623157e308", sys.float_info.max),
        (b"5e-324", 5e-324),
        (b"0.30000000000000004", 0.1 + 0.2),
    ],
)
def test_numbers_become_the_narrowest_exact_type(data: bytes, value: float) -> None:
    [read] = parse(b"[" + data + b"]").value
    assert (type(read), read) == (type(value), value)
    assert str(read) == str(value)
    assert parse(data).value == value


@pytest.mark.parametrize(
    ("data", "canonical", "plain"),
    [
        (b'{"a":1,"b":[true,false,null]}', True, True),
        (b'{"b":1,"a":1}', False, True),
        (b'{"a": 1}', False, True),
        (b'{"a":"\\u0041"}', False, True),
        (b'{"a":0.5}', True, True),
        (b'{"a":0.50}', False, True),
        (b'{"a":5E-1}', False, True),
        (b'{"a":1.0}', False, True),
        (b'{"a":1e+21}', True, False),
        (b'{"a":1e21}', False, False),
        (b'{"a":1e-7}', True, False),
        (b'{"a":0.00001}', True, False),
        (b'{"a":0.0001}', True, True),
        (b'["1.0, 2.0, 0.00001"]', True, True),
        (b'["[1e5]","{\\"x\\":1e5}",", 1e5,"]', True, True),
        ('{"😀":1,"\ue000":2}'.encode(), True, False),
        ('{"\ue000":2,"😀":1}'.encode(), False, False),
        ('["😀","\ue000",{"a":"❤️🚀"}]'.encode(), True, True),
        ('{"😀":{"\ue000":2}}'.encode(), True, True),
        (b"0.5", True, True),
        (b"5", True, True),
        (b'"x"', True, True),
        (b"-5 ", False, True),
        (b'"\\/"', False, True),
        (b'"\\u001F"', False, True),
        (b'"\\u001f"', True, True),
        (b"[" * 128 + b"]" * 128, True, True),
        (b'["' + b"[" * 200 + b'"]', True, True),
        (b'["\\\\\\"' + b"{" * 200 + b'\\""]', True, True),
        (b"[" + b",".join([b"[]"] * 200) + b"]", True, True),
    ],
)
def test_what_was_received_is_told_apart_from_its_canonical_form(
    data: bytes, canonical: bool, plain: bool
) -> None:
    parsed = parse(data)
    assert parsed.canonical is canonical
    # `plain` may be denied to a value that deserves it, never the other way round.
    assert not parsed.plain or plain


def test_equal_texts_of_one_value_give_one_value() -> None:
    one = parse(b'{"a":[1.0,"\\u00e9\\n"],"b":{}}').value
    other = parse('{ "b" : { } , "a" : [ 1 , "é\\u000a" ] }'.encode()).value
    assert one == other == {"a": [1, "é\n"], "b": {}}


@pytest.mark.parametrize("wrap", [bytearray, memoryview])
def test_other_buffers_are_read_as_bytes(wrap: Any) -> None:
    assert parse(wrap(b'{"a":1}')) == Parsed({"a": 1}, True, True)


@pytest.mark.parametrize("thing", ["{}", None, 1, ["{}"], {"a": 1}])
def test_what_is_not_bytes_is_refused_with_the_cure(thing: Any) -> None:
    with pytest.raises(InputError) as caught:
        parse(thing)
    assert caught.value.code is Reason.UNSUPPORTED_TYPE
    assert "UTF-8" in caught.value.hint


def test_a_full_call_stack_is_a_typed_error() -> None:
    def descend(left: int) -> Parsed:
        return descend(left - 1) if left else parse(b"[1e-7," * 120 + b"1" + b"]" * 120)

    def room() -> int:
        frame, depth = sys._getframe(), 0
        while frame.f_back is not None:
            frame, depth = frame.f_back, depth + 1
        return sys.getrecursionlimit() - depth

    for left in range(room() - 160, room() - 40, 20):
        try:
            assert descend(left).plain is False
        except InputError as error:
            assert error.code is Reason.NESTING_TOO_DEEP


def test_readers_that_disagree_refuse(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locate, "refusal", lambda data, exact: None)
    assert fault(b"[1,]") == (R.MALFORMED_JSON, "", 0)


LONG = b"[" + b'{"a":1},' * 60_000
UNSEARCHED = {
    LONG + b'{"a":1,"a":2}]': Reason.DUPLICATE_MEMBER,
    LONG + b"1e400]": Reason.NUMBER_OUT_OF_RANGE,
    LONG + b"9007199254740993]": Reason.INTEGER_OUT_OF_RANGE,
    LONG + b"9007199254740990.9]": Reason.NUMBER_NOT_EXACT,
    LONG + b'"\\ud800"]': Reason.LONE_SURROGATE,
    LONG + b'{"\\udc00":1}]': Reason.LONE_SURROGATE,
    LONG + b"[" * 128 + b"]" * 128 + b"]": Reason.NESTING_TOO_DEEP,
    LONG + b"[" * 5000 + b"]" * 5000 + b"]": Reason.NESTING_TOO_DEEP,
    LONG + b"NaN]": Reason.MALFORMED_JSON,
    LONG + b"1]]": Reason.MALFORMED_JSON,
    LONG + b'"\xff"]': Reason.NOT_UTF8,
    b"\xef\xbb\xbf" + LONG + b"1]": Reason.NOT_UTF8,
}


@pytest.mark.parametrize("text", UNSEARCHED, ids=lambda text: repr(text[-24:]))
def test_a_long_text_is_refused_with_its_code_and_no_search(text: bytes) -> None:
    with pytest.raises(InputError) as quick:
        parse(text, search=1000)
    with pytest.raises(InputError) as searched:
        parse(text, search=len(text))
    assert quick.value.code is searched.value.code is UNSEARCHED[text]
    assert searched.value.pointer is not None
    assert quick.value.pointer is None
