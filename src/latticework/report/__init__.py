"""Reports on compiled programs, as text, as one self-contained HTML page and as JSON."""

from latticework.report.accuracy_report import AccuracyReport
from latticework.report.as_json import plain_data
from latticework.report.build import build_client_report, build_report
from latticework.report.describe_file import explain_file, file_facts
from latticework.report.report import Report, report_ending
from latticework.report.sections.kept_section import kept_data, kept_lines
from latticework.report.sections.memory_budget_section import memory_data, memory_text
from latticework.report.under_budget import under_budget

__all__ = [
    "AccuracyReport",
    "Report",
    "build_client_report",
    "build_report",
    "explain_file",
    "file_facts",
    "kept_data",
    "kept_lines",
    "memory_data",
    "memory_text",
    "plain_data",
    "report_ending",
    "under_budget",
]
