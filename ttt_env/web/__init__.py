"""The page in a browser where people and agents meet: `ttt web`.

The address holds all that is on the table (`table.py`), so the server keeps no visitors: any number of tabs
and people play at once, and an address can be passed on. `play.py` and its like turn addresses into pages.
"""
