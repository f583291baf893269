"""Markdown that is generated: tables, and the blocks of a page that are written anew."""

LONG = 20  # rows; a longer table may be folded


def table(header, rows, folded="") -> str:
    """A table; signs that would end a cell or begin a tag are escaped.

    header: the names of the columns; rows: for each row its cells, of which `str` makes texts; folded: words
    behind which a table of more than LONG rows is folded.
    """
    lines = [header, ["---"] * len(header), *rows]
    text = "".join(f"| {' | '.join(map(escaped, line))} |\n" for line in lines)
    return fold(text, folded) if folded and len(rows) > LONG else text


def fold(text, name):
    """Lines of Markdown behind a name that a click opens."""
    return f"<details><summary>{escaped(name)}</summary>\n\n{text}\n</details>\n"


def escaped(text):
    """A text as a cell of a table, or a paragraph, shows it."""
    return str(text).replace("|", "\\|").replace("<", "&lt;")


def with_block(text, name, content):
    """A page whose block between the lines <!-- name --> and <!-- end --> is replaced by whole lines.

    Raises ValueError for a page without this block.
    """
    before, begin, rest = text.partition(f"<!-- {name} -->\n")
    _, end, after = rest.partition("<!-- end -->")
    if not (begin and end):
        raise ValueError(f"the page has no block to write: add the lines <!-- {name} --> and <!-- end -->")
    return before + begin + content + end + after
