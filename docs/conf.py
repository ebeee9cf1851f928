"""The documentation site: `make docs` builds it into build/site.

Sphinx with numpydoc and sphinx-gallery, as nilearn and scikit-learn use them: docstrings are in
NumPy's style already, and tutorials are Python files that run. MyST reads the Markdown pages where
they stand. The source folder is the whole tree, so that a link between two pages is the same here
and in a browser of the repository; `include_patterns` says which files are pages.
"""

import os
import sys
import tempfile
from pathlib import Path

HOUSE = Path(__file__).parents[1]
sys.path[:0] = [str(HOUSE / "docs" / "_ext"), str(HOUSE / ".ci")]
os.environ["TQDM_DISABLE"] = "1"
os.environ["COLUMNS"] = "100"
# What tutorials write stands in a folder of the build; `shown` becomes part of the site.
WORK = HOUSE / "build" / "tutorials"
SHOWN = WORK / "shown"
SHOWN.mkdir(parents=True, exist_ok=True)
tempfile.tempdir = str(WORK)

import stillome  # noqa: E402

project = "stillome"
author = "The stillome developers"
copyright = author  # noqa: A001 - the name that Sphinx reads
version = release = stillome.__version__

root_doc = "docs/index"
extensions = [
    "from_code",
    "api_pages",
    "sphinx.ext.autodoc",
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
    "sphinx_design",
    "sphinx_copybutton",
]
include_patterns = [
    "docs/**.md",
    "docs/**.rst",
    "docs/**/*.rst",
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "RELEASING.md",
    "studies/*.md",
    "benchmarks/README.md",
]
exclude_patterns = [".*", "build", "dist", "src", "tests", "stillome-demo*", "docs/api/uses"]
# Of what the first tutorial writes, only the report becomes part of the site.
exclude_patterns += ["*/study", "first-report/[!r]*", "first-report/run.json"]

# `name` in a docstring links to its page where it has one; most are helpers, which have none, so
# that nitpicky mode would only name those. Every other kind of broken link is a warning, and
# `make docs` makes an error of each.
default_role = "py:obj"
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
myst_enable_extensions = ["colon_fence", "deflist"]
smartquotes = False  # it would make a dash of the two of an option
myst_heading_anchors = 4

sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "docs/tutorials",
    "filename_pattern": r"/\d_",
    "within_subsection_order": "FileNameSortKey",
    "image_scrapers": ("gallery.save_returned_figures",),
    "reset_modules": ("gallery.tidy",),
    "capture_repr": ("_repr_html_", "__repr__"),
    "ignore_repr_types": r"matplotlib\.figure",
    "backreferences_dir": "docs/api/uses",
    "doc_module": ("stillome",),
    "abort_on_example_error": True,
    "download_all_examples": False,
    "remove_config_comments": True,
    "write_computation_times": False,
    "show_signature": False,
    "min_reported_time": 1,
}

html_theme = "pydata_sphinx_theme"
html_title = "stillome"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_extra_path = ["_root", str(SHOWN)]
html_sourcelink_suffix = ""
html_show_sourcelink = False
html_sidebars = {"README": [], "CHANGELOG": [], "docs/faq": []}
html_theme_options = {
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "secondary_sidebar_items": ["page-toc"],
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}

linkcheck_timeout = 20
linkcheck_retries = 1
linkcheck_anchors = False
