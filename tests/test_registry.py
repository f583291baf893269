"""A registry reads like a dictionary, keeps the order of joining, and refuses what is wrong in one line."""

from dataclasses import dataclass

import pytest

from faithlib.registry import Named, Registry


@dataclass(frozen=True)
class Entry(Named):
    name: str
    function: object
    better: str = "higher"
    needs: tuple = ()


def mean(values):
    return sum(values) / len(values)


def filled():
    registry = Registry("metric")
    for name in ("second", "first"):
        registry.add(Entry(name, f"{name}:run"))
    return registry


def test_it_reads_like_a_dictionary_in_the_order_of_joining():
    registry = filled()
    assert registry.names() == list(registry) == ["second", "first"] and len(registry) == 2
    assert registry["first"] is registry.find("first") is registry.get("first")
    assert "third" not in registry and registry.get("third") is None
    registry.remove("second")
    assert registry.names() == ["first"]


def test_what_stands_in_the_same_place_may_join_again():
    registry = filled()
    registry.add(Entry("mean", mean))
    registry.add(Entry("mean", mean, better="lower"))
    assert registry["mean"].better == "lower" and registry["mean"].resolve() is mean


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (("first", mean), "metric 'first' is first:run already: choose another name"),
        (("a b", mean), "metric 'a b': give a name of letters, digits and _"),
        ((3, mean), "metric 3: give a name of letters, digits and _"),
        (("new", mean, "up"), "metric 'new': better='up' is unknown: use 'higher', 'lower'"),
        (("new", mean, "lower", ("cpu", "tpu")), "metric 'new': needs='tpu' is unknown: use 'cpu'"),
    ],
)
def test_what_is_wrong_is_refused(fields, message):
    registry = filled()
    with pytest.raises(ValueError) as error:
        registry.add(Entry(*fields), better=("higher", "lower"), needs=("cpu",))
    assert str(error.value) == message and registry.names() == ["second", "first"]


def test_an_unknown_name_is_answered_by_the_nearest():
    with pytest.raises(ValueError, match="^metric 'frist' is unknown: did you mean 'first'.*, second; add"):
        filled().find("frist")


def test_a_built_in_function_is_found_in_the_package_of_its_entry():
    assert Entry("a", "tiny:TEXTS").place == "tiny:TEXTS"
    from faithlib.metrics import erasure, registry

    assert registry.get("ns").resolve() is erasure.ns
