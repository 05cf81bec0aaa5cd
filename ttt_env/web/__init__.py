"""The web app: files that any web server can serve, and here five answers that only Python can give.

`static/` has the page: plain modules without a framework, in which everything about games of up to nine cells
is computed where the page is. `data` makes the files of data beside them, `build` writes both to a folder.
`ttt web` serves that folder (`server`), and answers questions about larger games and other agents
(`answers`).
"""
