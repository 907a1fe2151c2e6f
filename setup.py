"""The README for package indexes: relative links lead to the repository. All else is in pyproject.toml."""

import re
import tomllib
from pathlib import Path

from setuptools import setup

SOURCE = tomllib.loads(Path("pyproject.toml").read_text("utf-8"))["project"]["urls"]["Source"]
README = Path("README.md").read_text("utf-8")

setup(
    long_description=re.sub(r"\]\((?!https?:|#)", f"]({SOURCE}/blob/main/", README),
    long_description_content_type="text/markdown",
)
