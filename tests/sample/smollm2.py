"""SmolLM2-135M-Instruct, where `make fetch` has put it; tests that need it are skipped elsewhere."""

import os
from pathlib import Path

import pytest

SMOLLM2, FOLDER = "HuggingFaceTB/SmolLM2-135M-Instruct", os.environ.get("FAITHLIB_MODEL_DIR", "")
needs_smollm2 = pytest.mark.skipif(
    not Path(FOLDER, SMOLLM2, "config.json").is_file(), reason="SmolLM2 is not in FAITHLIB_MODEL_DIR"
)
