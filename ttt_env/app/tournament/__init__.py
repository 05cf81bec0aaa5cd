"""Tournaments that are described by a file: `ttt tournament FILE.toml`.

`plan.py` reads the file, `players.py` makes those who play, `contest.py` lets them meet and keeps in a
journal what has come out, `results.py` and `page.py` show it. All this is a part of the command line, the one
floor on which agents from everywhere, programs, files and pages come together.
"""
