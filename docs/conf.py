"""How the site is built: `make docs` writes it to build/docs/html, to be read without a network."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent / "extensions"))

import ratebound

project = "ratebound"
author = "the authors of ratebound"
copyright = "the authors of ratebound, Apache-2.0"
version = release = ratebound.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "command_line",  # these three are ours, in extensions/
    "mathml",
    "names",
]
exclude_patterns = ["gallery/sg_execution_times.rst", "sg_execution_times.rst"]
templates_path = ["templates"]
nitpicky = True
nitpick_ignore_regex = [("py:obj", ".*")]  # only public `names` in docstrings become links

# --- pages -------------------------------------------------------------------------------------------

myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
myst_dmath_double_inline = True
html_math_renderer = "mathml"
highlight_language = "text"
smartquotes = False  # names and texts are often quoted, to be typed
copybutton_prompt_text = r">>> |\.\.\. |\$ "  # copied without prompts and without what was printed
copybutton_prompt_is_regexp = True
copybutton_line_continuation_character = "\\"

# --- reference ---------------------------------------------------------------------------------------

default_role = "py:obj"
autosummary_generate = True
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # docstrings say what parameters are, in words
numpydoc_show_class_members = False  # the templates list them
add_module_names = False
python_maximum_signature_line_length = 88
python_trailing_comma_in_multi_line_signatures = False
toc_object_entries_show_parents = "hide"

# --- gallery -----------------------------------------------------------------------------------------

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",  # all are run
    "within_subsection_order": "FileNameSortKey",
    "backreferences_dir": "gallery/of",
    "doc_module": ("ratebound",),
    "reference_url": {"ratebound": None},
    "default_thumb_file": str(
        Path(__file__).parent / "images" / "script.png"
    ),  # of examples without a picture
    "reset_modules": ("matplotlib", "pictures.larger"),
    "download_all_examples": False,
    "show_signature": False,
}

# --- looks -------------------------------------------------------------------------------------------

html_theme = "pydata_sphinx_theme"
html_title = f"ratebound {release}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "navbar_align": "left",
    "header_links_before_dropdown": 5,
    "show_toc_level": 2,
    "show_prev_next": False,
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
