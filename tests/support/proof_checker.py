"""The function of the script that checks proofs."""

import runpy
from functools import cache

from tests.support.documents import ROOT

CHECKER = ROOT / "scripts" / "check_proof.py"
check = runpy.run_path(str(CHECKER))["check"]
# The script searches thousands of games for an id; the files of the tests have only a few ids.
check.__globals__["rules_of"] = cache(check.__globals__["rules_of"])
