"""A finished run as one page: read its folder, draw its figures, write one HTML file."""

from stillome.report.writing import write_report

__all__ = ["write_report"]
