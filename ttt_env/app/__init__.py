"""The top floor: the command line, the terminal and the page. Nothing imports it."""
