"""The course's package of checks stands beside its notebooks."""

import sys
from pathlib import Path

TUTORIALS = Path(__file__).resolve().parents[2] / "notebooks/tutorials"
sys.path.insert(0, str(TUTORIALS))
