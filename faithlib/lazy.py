"""Names that a package offers and imports when they are first used: torch and transformers take seconds."""

from importlib import import_module


def offers(package, home):
    """The `__getattr__` of a package (its `__name__`) that offers {name: its module, or "module:name there"}.

    >>> offers("faithlib.metrics", {"register_metric": "registry:register"})("registr_metric")
    Traceback (most recent call last):
    AttributeError: module 'faithlib.metrics' has no attribute 'registr_metric'; it loads register_metric
    """

    def get(name):
        if name not in home:
            names = ", ".join(sorted(home))
            raise AttributeError(f"module {package!r} has no attribute {name!r}; it loads {names}")
        module, _, there = home[name].partition(":")
        return getattr(import_module(f"{package}.{module}"), there or name)

    return get
