"""A verified envelope, read-only: it reads like JSON values and cannot be written."""

from __future__ import annotations

from typing import Any, NoReturn


def _refuse(self: object, *args: object, **kwargs: object) -> NoReturn:
    raise TypeError("a verified envelope is read-only; copy it first with copy.deepcopy")


class FrozenDict(dict[str, Any]):
    """An object of a verified envelope."""

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return _thaw(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return (dict, (_thaw(self),))


class FrozenList(list[Any]):
    """An array of a verified envelope."""

    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse
    append = extend = insert = pop = remove = clear = sort = reverse = _refuse

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return _thaw(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return (list, (_thaw(self),))


def freeze(value: Any) -> Any:
    """A read-only copy of a JSON value."""
    if isinstance(value, dict):
        return FrozenDict((name, freeze(item)) for name, item in value.items())
    if isinstance(value, list):
        return FrozenList(freeze(item) for item in value)
    return value


def _thaw(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _thaw(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_thaw(item) for item in value]
    return value
