"""Keys whose private half anyone can read: examples of standards and of this project.

They are refused in signing and in verifying (``published_key``) unless the caller allows
published keys, as demos and tests do.

Source: SPEC section 4.3; each row names where its private half is printed.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

_RFC8032 = "RFC 8032 section 7.1"
_RFC8032_CTX = "RFC 8032 section 7.2"
_RFC6979 = "RFC 6979 appendix A.2.5"
_RFC7515 = "RFC 7515 appendix A.3"
_RFC7517 = "RFC 7517 appendix A.2"
_RFC7518 = "RFC 7518 appendix C"
_RFC9052 = "RFC 9052 appendix C.7.2"
_RFC9421 = "RFC 9421 appendix B.1.3"
_RFC9500 = "RFC 9500"
_RFC9964 = "RFC 9964 appendix A"
_JWT_IO = "the ES256 example of jwt.io"
_ONE = "private half 1"
_EXAMPLE = "keys-example"
_DHARMA = "tests/vectors/dharma/keys.json"
_CASES = "tests/vectors/cases"
_SAMPLES = "tests/vectors/samples/orbiplex/support/detached-signature-vector.json"

PUBLISHED: Mapping[str, str] = MappingProxyType(
    {
        # Also the key of RFC 8037 appendix A and of the JOSE cookbook's Ed25519 example.
        "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k": f"{_RFC8032}, RFC 8037 appendix A",
        "FtIu-VbGrfe_KB6CH7GNwODB72MNxj_ml11dEvO-7kk": _RFC8032,
        "FVV5umTuau890q59V-4Ga_R6qWb7ON_ivJc4EjvCwTM": _RFC8032,
        "lZI1vM7tnlYapaF5-cy86ptx0tT_8Av721hhiNB5ti4": _RFC8032,
        "iiDHHfFVNG6ICMUTsicgrWf1igtFYZEK73xlobt1ah4": _RFC8032,
        "2bVIQ9_u0wVxBsBwmxK3F42rRFnt_dA7CZQ3u_2RKZY": _RFC8032_CTX,
        "qz1FYaobwnFjkaNLccv-mFXe7gu45Zo72p2XqE3Is20": _RFC8032_CTX,
        "DOvxvJiAdIqVWIkFt5hDtCunXLF0BV4-JGv4f-ALSm0": _RFC6979,
        "oKIywvGUpTVTyxMQ3bwIIeQUudfr_CkLMjCE19ECD-U": _RFC7515,
        "cn-I_WNMClehiVp51i_0VpOENW1upEerA8sEam5hn-s": _RFC7517,
        "_GK0r6GCoJt9zcssg9lay4obIxgCq05ntiRymRHADSU": _RFC7518,
        "Vy57XrArUrW0NbpI12tEzDHABxMwrTh6HHXRenSpnCo": _RFC7518,
        "HsSFalww3yP-dO-lWGYgFcyV5H22oScIFc4V2Y6GOto": _RFC9052,
        "xNnfOFTMgZSRM3KtGHQqavZGWGF00Fe54LZBYCIxr88": _RFC9052,
        "ydQXMtvbsOsZyFir-Y7A8t7fKEM1gbKPvyFkdpu4fvI": _RFC9421,
        "LIstkoCvByn4jk8oZPvigQkzTzO9UwnGnE-VMlkZvYQ": _RFC9500,
        "Suiu29qbfuaBaR4Ats-c6XQBePB_OpAxAwcTR_0KXVM": _RFC9964,
        "19J8y7Zprt2-QKLjF2I5pVk0OELX6cY2AfaAv1LC_w8": _JWT_IO,
        "xx0BcA-wMohw8atYDJOe6peGModklG2wRHBlXHMvl0M": _ONE,
        "7KHwj7NY_ohk3TzngtZRo41YXhp0SPGyV6l-IgFKVkg": _EXAMPLE,
        "4uXmUKmN_fn7TY_TFi5nsyN5O3uDpbALKTfv-XZUNsE": _EXAMPLE,
        "wEkMorlZATAW9F-o73141th89idcv26WqbdiOJDALXQ": _EXAMPLE,
        "EmWTID5H1gG20UnaVxIhaBTDPAkTzZ_R1a-VugIySw8": _EXAMPLE,
        "2dJRIqraZjmbKeq5girfhuK9O6XFGNSwMx7bd8pelag": _DHARMA,
        "-TZDqajcm8zSO4Qt3rA0Q7NjlKM3HqdTTihNSi-4WxQ": _DHARMA,
        "FPqOsaj8epK-K9xfUkWWBT0dtfJqZctxWysVfkEBMzE": _DHARMA,
        "HcJ16QjlkeiFHIc1VLRObsZC-4Uhk8v9y9jesNsAPkE": _DHARMA,
        "92YOvxBtWqtrfbUkmtu11-dfQGastqpGQSAOB0S-HMw": _DHARMA,
        "2c2qkS5-c764OsL-4dRFhDDNjwPLjvD5C_1b9rKycgI": _DHARMA,
        "kNZl88pUz-PK2fNfSBRzlNFWS4x0-Man6WWMKhVWp6A": _DHARMA,
        "wfJGfV-vYJ_D6jG7u-Z7z7pNMsLTKe5QallTqT1RDzA": _CASES,
        "89ciXXo1Jf7NcOGkTymeNIzKis1iXjl3meN5XDvIj-E": _CASES,
        "5DQseMVBGIb7ccMc8xP2ibu0YafOf9OyVHbfIS7Ci0w": _SAMPLES,
    }
)
"""RFC 7638 thumbprint → where the private half is printed."""


def is_published(thumbprint: str) -> bool:
    """Whether the private half of the key with this thumbprint is public knowledge."""
    return thumbprint in PUBLISHED
