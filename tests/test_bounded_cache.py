import pytest

from cep.bounded_cache import BoundedCache


def test_a_value_is_worked_out_once() -> None:
    asked: list[int] = []

    def square(number: int) -> int:
        asked.append(number)
        return number * number

    cache = BoundedCache(square, capacity=10)
    assert [cache[3], cache[4], cache[3]] == [9, 16, 9]
    assert asked == [3, 4]


def test_a_full_cache_is_cleared_and_fills_again() -> None:
    cache = BoundedCache[int, int](lambda number: number, capacity=10)
    for number in range(25):
        assert cache[number] == number
        assert len(cache) == cache.size <= 10
    assert cache.clears == 2
    assert list(cache) == [20, 21, 22, 23, 24]


def test_entries_count_by_their_size() -> None:
    cache = BoundedCache[str, str](str.upper, capacity=10, size_of=lambda key, _value: len(key))
    for key in ("aaaa", "bbbb", "cc"):
        cache[key]
    assert (cache.size, cache.clears) == (10, 0)
    cache["d"]
    assert (dict(cache), cache.size, cache.clears) == ({"d": "D"}, 1, 1)


def test_what_alone_is_too_large_is_not_kept() -> None:
    cache = BoundedCache[str, str](str.upper, capacity=10, size_of=lambda key, _value: len(key))
    assert cache["b"] == "B"
    assert cache["a" * 11] == "A" * 11
    assert (dict(cache), cache.size, cache.clears) == ({"b": "B"}, 1, 0)


def test_an_error_is_not_kept() -> None:
    divisors = iter([0, 2])
    cache = BoundedCache[int, float](lambda number: number / next(divisors), capacity=10)
    with pytest.raises(ZeroDivisionError):
        cache[6]
    assert cache[6] == 3
