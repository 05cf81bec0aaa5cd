"""The modules in `scripts`, which the tests of this folder import as the scripts do."""

import sys

from tests.support.documents import ROOT

sys.path.insert(0, str(ROOT / "scripts"))
