"""A finished run as one page: read its folder, draw its figures, write one HTML file."""

from stillome.report.results import Results, Slider, read_results
from stillome.report.write import write_report

__all__ = ["Results", "Slider", "read_results", "write_report"]
