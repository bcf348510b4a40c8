"""Sphinx configuration for the pages that tools/website/__main__.py lays out. Source: the Sphinx and Furo documentation."""

import os
from pathlib import Path

project = "trainc"
author = "the trainc authors"
version = release = os.environ["TRAINC_SITE_VERSION"]
extensions = ["myst_parser", "sphinx_copybutton"]
root_doc = "index"
exclude_patterns = ["conf.py"]
# The same heading anchors as on GitHub.
myst_heading_anchors = 4
myst_links_external_new_tab = False
nitpicky = True
# Lexers fail on `<angle>` placeholders and YAML fragments, but missing highlighting is not an error.
suppress_warnings = ["misc.highlighting_failure"]
copybutton_exclude = ".linenos, .gp, .go"

html_theme = "furo"
html_title = f"trainc {version}"
html_static_path = ["static"]
html_logo = html_favicon = "static/icon.svg"
html_css_files = ["site.css"]
html_js_files = ["versions.js"]
templates_path = ["templates"]
html_copy_source = False
html_search_scorer = str(Path(__file__).with_name("scorer.js"))
html_show_sphinx = False
html_show_copyright = False
html_sidebars = {
    "**": [
        "sidebar/brand.html",
        "sidebar/versions.html",
        "sidebar/search.html",
        "sidebar/scroll-start.html",
        "sidebar/navigation.html",
        "sidebar/scroll-end.html",
    ]
}
# No icon font and no repository link: the site loads nothing from other hosts.
html_theme_options: dict[str, list[str]] = {"top_of_page_buttons": [], "footer_icons": []}
