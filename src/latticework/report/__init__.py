"""Reports on compiled programs, as text, as one self-contained HTML page and as JSON."""

from latticework.report.build import build_client_report, build_report
from latticework.report.explain import explain_file, file_facts
from latticework.report.report import Report, report_ending

__all__ = [
    "Report",
    "build_client_report",
    "build_report",
    "explain_file",
    "file_facts",
    "report_ending",
]
