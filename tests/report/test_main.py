"""`python -m faithlib.report`: verdicts and folders on the terminal."""

import pandas as pd
import pytest

from faithlib.report import __main__ as command
from faithlib.report.claims import CLAIMS


def test_the_command_prints_verdicts_and_folders(tmp_path, capsys):
    folder = tmp_path / "quick" / "fmm"
    folder.mkdir(parents=True)
    row = dict.fromkeys(CLAIMS, "") | {"value": 0.25, "ci_low": 0.1, "ci_high": 0.375, "published": 0.5}
    row |= {"definition": "paper", "baseline": "random"}
    long = "a claim of so many words that the terminal has to wrap it into a second line"
    claims = [row | {"claim": "one above two", "verdict": "holds"}, row | {"claim": long, "verdict": "open"}]
    pd.DataFrame(claims).assign(published=[0.5, None]).to_csv(folder / "claims.csv", index=False)
    command.main(["quick", "--results-dir", str(tmp_path)])
    out = capsys.readouterr().out
    assert (
        "one above two" in out and "[0.100, 0.375]" in out and "holds" in out and "figures/quick/fmm/" in out
    )
    assert max(map(len, out.splitlines())) <= 100 + len(str(tmp_path))
    with pytest.raises(FileNotFoundError, match="make results SCALE=small"):
        command.main(["small", "--results-dir", str(tmp_path)])
    with pytest.raises(ValueError, match="'tiny' is unknown: use one of quick, small, paper"):
        command.main(["tiny"])
