"""Where the recipe's tests find the package and the labelled data."""

import os
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve()
sys.path.insert(0, str(HERE.parent.parent))


@pytest.fixture(scope="session")
def data() -> Path:
    folder = Path(os.environ.get("SHARED_DATA", HERE.parents[4] / "shared")) / "data"
    if not folder.exists():
        pytest.skip("the labelled data is absent: set SHARED_DATA to its folder")
    return folder
