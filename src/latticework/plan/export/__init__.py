"""Programs for other libraries, written from plans."""

from latticework.plan.export.write_program import TARGETS, export_plan

__all__ = ["TARGETS", "export_plan"]
