"""Make the modules in `scripts` importable, as they import each other."""

import sys

from tests.support.documents import ROOT

sys.path.insert(0, str(ROOT / "scripts"))
