"""`python -m replication`: one screen on what was made and what opens it; claims where a paper is named."""

import pandas as pd
import pytest
from wrong import refused

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


def test_claims_of_a_paper_have_intervals_and_verdicts(project, capsys):
    wrapped = {"claim": LONG, "verdict": "undecided", "reason": "2 seeds", "n_units": 0}
    wrapped |= {"ci_low": NAN, "ci_high": NAN}
    write(project / "results/small/fmm", {"claim": "one above two", "verdict": "holds"}, wrapped)
    command.main(["small", "fmm"])
    out = capsys.readouterr().out
    assert "+0.250 [+0.100, +0.375]; published" in out and "undecided (2 seeds)" in out and "nan" not in out
    assert max(map(len, out.splitlines())) <= 100
    command.main(["small", "all"])
    assert capsys.readouterr().out == out
    refused("paper with claims at scale small='fm' is unknown: use 'fmm'", command.main, ["small", "fm"])


def test_one_screen_says_what_was_made_and_ends_with_the_line_that_opens_it(project, capsys):
    row = {"claim": "one above two", "verdict": "", "published": NAN}
    write(project / "results/quick/fmm", row)
    other = row | {"claim": "two above three", "verdict": "depends"}
    again = other | {"definition": "released", "verdict": "does not hold"}  # a claim counts once
    write(project / "results/small/fmm", row | {"verdict": "holds"}, other, again)
    for made in ("results/quick/fmm/sst.bert.s0.json", "figures/quick/fmm/curves.png"):
        (project / made).parent.mkdir(parents=True, exist_ok=True)
        (project / made).touch()
    command.main(["quick"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split() == ["fmm", "1", "0", "1", "1", "numbers"] and len(lines) <= 24
    out = "\n".join(lines)
    assert "decides no claim" in out and "committed small scale, not of this run" in out
    assert "1 holds, 1 depends" in out and "holds (" not in out
    assert lines[-1].endswith("jupyter lab notebooks/fmm/report.ipynb")
    (project / "runs/quick/fmm").mkdir(parents=True)
    (project / "runs/quick/fmm/report.ipynb").touch()
    command.main(["quick"])
    assert capsys.readouterr().out.endswith("jupyter lab runs/quick/fmm/report.ipynb\n")
    command.main(["small"])
    first = capsys.readouterr().out.splitlines()[1]
    assert first.split() == ["fmm", "0", "0", "0", "1", "holds,", "1", *"depends on a choice".split()]


def test_cards_are_written_from_the_committed_claims(project, capsys):
    write(project / "results/small/fmm", {"claim": "one above two", "verdict": "holds"})
    card = project / "notebooks/fmm/README.md"
    card.parent.mkdir(parents=True)
    card.write_text(f"<!-- {cards.BLOCK} -->\n<!-- end -->\n")
    command.main(["small", "--cards"])
    assert "Cards written: fmm" in capsys.readouterr().out and "one above two" in card.read_text()
    refused("'quick' has no verdicts: use one of small, base, paper", command.main, ["quick", "--cards"])


def test_wrong_scales_are_told(project):
    (project / "config").mkdir()
    for scale in ("small", "mine"):
        (project / f"config/{scale}.yaml").touch()
        refused(f"make results SCALE={scale}", command.main, [scale], error=FileNotFoundError)
    refused("'tiny' is unknown: use 'mine', 'small'", command.main, ["tiny"])
    refused("scale='../tiny' is no slug", command.main, ["../tiny"])
