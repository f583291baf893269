"""What tests of tables share."""


def cell(table, **values):
    """The one row of a table that has the given values, column=value."""
    for name, value in values.items():
        table = table[table[name] == value]
    assert len(table) == 1, f"{len(table)} rows have {values}"
    return table.iloc[0]
