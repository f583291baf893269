"""What packages offer is there when it is used, and a wrong name is told with the right ones."""

from importlib import import_module

import pytest

from faithlib.lazy import offers


@pytest.mark.parametrize(
    ("package", "name", "module"),
    [
        ("faithlib", "evaluate", "study.study"), ("faithlib", "register_metric", "metrics.registry"),
        ("faithlib.attributions", "attribute", "attributions.compute"),
        ("faithlib.models", "load_model", "models.own"), ("faithlib.tasks", "load_data", "tasks.own"),
    ],
)  # fmt: skip
def test_a_name_is_that_of_its_module(package, name, module):
    value = getattr(import_module(package), name)
    assert value is getattr(import_module(f"faithlib.{module}"), value.__name__)


def test_all_that_the_front_door_names_is_there():
    import faithlib

    assert all(callable(getattr(faithlib, name)) for name in faithlib.__all__)
    assert set(faithlib.__all__) < set(dir(faithlib))


def test_a_wrong_name_is_told_with_the_right_ones():
    with pytest.raises(AttributeError, match="^module 'p' has no attribute 'evaluat'; it loads b, evaluate$"):
        offers("p", {"evaluate": "study", "b": "c"})("evaluat")
    with pytest.raises(ImportError, match="cannot import name 'evaluat'"):
        from faithlib import evaluat  # noqa: F401
