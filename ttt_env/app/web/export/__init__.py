"""The page as files that any web server can serve: tic-tac-toe, with everything computed in the browser."""
