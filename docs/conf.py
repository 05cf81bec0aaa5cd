"""How the site is built: `make docs` runs every page that is a notebook, and writes to `build/docs`."""

import ttt_env

project = "ttt_env"
author = "the developers of ttt_env"
copyright = author
version = release = ttt_env.__version__

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.viewcode", "sphinx_design", "sphinx_copybutton"]
default_role = "py:obj"  # docstrings name code in single backticks

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

# Notebooks run in the build, from top to bottom; an error, or a warning of Python, ends it.
nb_execution_mode = "cache"
nb_execution_cache_path = "../build/notebooks"
nb_execution_timeout = 600
nb_execution_raise_on_error = True
nb_output_stderr = "error"
nb_merge_streams = True

autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_default_options = {"members": True, "show-inheritance": True}
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 88

html_theme = "furo"
html_title = f"ttt_env {version}"
html_favicon = "../scripts/figures/board.svg"
copybutton_exclude = ".linenos, .gp, .go"
