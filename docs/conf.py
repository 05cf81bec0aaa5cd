"""How the site is built: `make docs` runs every page that is a notebook, and writes to `build/docs`."""

import sys
from pathlib import Path

import ttt_env

sys.path.insert(0, str(Path(__file__).parent))  # of `building`

project = "ttt_env"
author = "the ttt_env maintainers"
copyright = author
version = release = ttt_env.__version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_design",
    "sphinx_copybutton",
    "building",
]
default_role = "py:obj"  # docstrings name code in single backticks

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3

# Notebooks run in the build, from top to bottom; an error, or a warning of Python, ends it.
nb_execution_mode = "force"
nb_execution_in_temp = True
nb_execution_timeout = 600
nb_execution_raise_on_error = True
nb_output_stderr = "error"
nb_merge_streams = True

autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_default_options = {"show-inheritance": True}
napoleon_use_ivar = True  # an attribute is described once, where it is
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 88

smartquotes = False  # they make one dash of the two of an option
add_module_names = False

html_theme = "furo"
html_title = f"ttt_env {version}"
html_favicon = html_logo = "../scripts/figures/board.svg"
COLOURS = {  # those of the board, and of the web app
    "light": {
        "brand-primary": "#b83a14",
        "brand-content": "#1b6f94",
        "brand-visited": "#1b6f94",
        "background-secondary": "#f7f5f0",
    },
    "dark": {
        "brand-primary": "#ff8a66",
        "brand-content": "#6fbfe3",
        "brand-visited": "#6fbfe3",
        "background-secondary": "#14171b",
    },
}
html_theme_options = {
    f"{mode}_css_variables": {f"color-{part}": colour for part, colour in parts.items()}
    for mode, parts in COLOURS.items()
}
html_static_path = ["_static"]
html_js_files = [("site.js", {"defer": "defer"})]
html_css_files = ["site.css"]
templates_path = ["_templates"]
html_sidebars = {  # the theme's, and a link to the app
    "**": [
        "sidebar/brand.html",
        "sidebar/search.html",
        "try.html",
        "sidebar/scroll-start.html",
        "sidebar/navigation.html",
        "sidebar/scroll-end.html",
    ]
}
copybutton_exclude = ".linenos, .gp, .go"
