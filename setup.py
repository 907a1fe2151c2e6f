"""The README for package indexes, without links into the repository. All else is in pyproject.toml."""

import re
from pathlib import Path

from setuptools import setup

README = Path("README.md").read_text("utf-8")

setup(
    long_description=re.sub(r"!?\[([^]]*)\]\((?!https?:|#)[^)]*\)", r"\1", README),
    long_description_content_type="text/markdown",
)
