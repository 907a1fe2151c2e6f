"""The report: one HTML file with everything in it, which loads nothing and works without its script.

What belongs here: what the page says (`content`), how figures become part of it (`pictures`), and the
Jinja2 templates, style sheet and script in `templates/`. All text is escaped by Jinja2's autoescape; the
page's Content-Security-Policy allows the page's own script alone, by its hash.
"""

from __future__ import annotations

from regret_envs.benchmarks.report.page import MOST_BYTES, report

__all__ = ["MOST_BYTES", "report"]
