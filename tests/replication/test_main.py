"""`python -m replication`: verdicts first, then where to look."""

import pandas as pd
import pytest

from replication import __main__ as command
from replication import cards, records
from replication.cards import WHOLE
from replication.claims import CLAIMS

NAN = float("nan")
LONG = "a claim of so many words that the terminal has to wrap it into a second line"
ROW = dict.fromkeys(CLAIMS, "") | {"value": 0.25, "ci_low": 0.1, "ci_high": 0.375, "published": 0.5}
ROW |= dict.fromkeys(WHOLE, 0)
ROW |= {"definition": "paper", "baseline": "random", "n_units": 3, "borderline": False}


def write(folder, *rows):
    folder.mkdir(parents=True)
    pd.DataFrame([ROW | row for row in rows], columns=CLAIMS).to_csv(folder / "claims.csv", index=False)


@pytest.fixture
def project(tmp_path, monkeypatch):
    for module in (command, cards, records):
        monkeypatch.setattr(module, "project_root", lambda: tmp_path)
    return tmp_path


def test_verdicts_come_first_then_where_to_look(project, capsys):
    wrapped = {
        "claim": LONG,
        "verdict": "undecided",
        "reason": "2 seeds",
        "n_units": 0,
        "ci_low": NAN,
        "ci_high": NAN,
    }
    write(project / "results/small/fmm", {"claim": "one above two", "verdict": "holds"}, wrapped)
    command.main(["small"])
    out = capsys.readouterr().out
    assert "[0.100, 0.375]" in out and "undecided (2 seeds)" in out
    assert "nan" not in out.split("Where to look")[0]
    assert out.index("holds") < out.index("Where to look") < out.index("figures/small/fmm/")
    assert max(map(len, out.splitlines())) <= 100


def test_quick_prints_numbers_and_the_committed_verdicts_marked_as_such(project, capsys):
    row = {"claim": "one above two", "verdict": "", "published": NAN}
    write(project / "results/quick/fmm", row)
    other = row | {"claim": "two above three", "verdict": "depends"}
    again = other | {"definition": "released", "verdict": "does not hold"}  # a claim counts once
    write(project / "results/small/fmm", row | {"verdict": "holds"}, other, again)
    command.main(["quick"])
    out = capsys.readouterr().out
    assert "decides no claim" in out and "committed small scale, not of this run" in out
    assert "1 holds, 1 depends" in out and "holds (" not in out and "0.250" in out


def test_cards_are_written_from_the_committed_claims(project, capsys):
    write(project / "results/small/fmm", {"claim": "one above two", "verdict": "holds"})
    card = project / "notebooks/fmm/README.md"
    card.parent.mkdir(parents=True)
    card.write_text(f"<!-- {cards.BLOCK} -->\n<!-- end -->\n")
    command.main(["small", "--cards"])
    assert "Cards written: fmm" in capsys.readouterr().out and "one above two" in card.read_text()
    with pytest.raises(ValueError, match="'quick' has no verdicts: use one of small, base, paper"):
        command.main(["quick", "--cards"])


def test_wrong_scales_are_told(project):
    (project / "config").mkdir()
    for scale in ("small", "mine"):
        (project / f"config/{scale}.yaml").touch()
        with pytest.raises(FileNotFoundError, match=f"make results SCALE={scale}"):
            command.main([scale])
    with pytest.raises(ValueError, match="'tiny' is unknown: use one of mine, small"):
        command.main(["tiny"])
    with pytest.raises(ValueError, match="scale='../tiny' is no slug"):
        command.main(["../tiny"])
