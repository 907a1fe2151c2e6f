"""Sphinx: Markdown (MyST) pages, an API reference from docstrings, pages generated from the registries.

Nothing here or in the built site needs the network. REGRET_ENVS_TUTORIALS says which tutorials are executed:
"all", "first" (the default) or "none".
"""

import os
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

import regret_envs  # noqa: E402

project = "regret-envs"
author = copyright = "the regret-envs authors"
version = release = regret_envs.__version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_design",
    "sphinxcontrib.bibtex",
    "accessible",
    "mathml",
    "docstrings",
    "pages",
]
exclude_patterns = ["_build", "_ext"]
default_role = "any_or_code"

html_theme = "furo"
html_title = "regret-envs"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_math_renderer = "mathml"
# What a search found is read by `fetch`, which browsers refuse on file://.
html_show_search_summary = False
html_copy_source = False
html_show_sphinx = False
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "attrs_inline"]
myst_heading_anchors = 3
suppress_warnings = ["mystnb.unknown_mime_type", "ref.python"]

tutorials = sorted(path.stem for path in (HERE / "tutorials").glob("[0-9]*.md"))
executed = {"all": tutorials, "first": tutorials[:1], "none": []}[os.getenv("REGRET_ENVS_TUTORIALS", "first")]
nb_execution_mode = "force" if executed else "off"
nb_execution_excludepatterns = [f"tutorials/{name}.md" for name in tutorials if name not in executed]
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_merge_streams = True

bibtex_bibfiles = ["references.bib"]
bibtex_default_style = "plain"
bibtex_reference_style = "author_year"

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True
python_use_unqualified_type_names = True
