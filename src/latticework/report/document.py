"""The report on a plan or a client file: its sections in the order in which they are read."""

from __future__ import annotations

from collections.abc import Iterator

from latticework.report.blocks import Document, FactList, Section
from latticework.report.data import Contents, Execution
from latticework.report.sections.approximations_section import approximation_section
from latticework.report.sections.bootstrap_section import bootstrap_sections
from latticework.report.sections.chain_section import chain_section
from latticework.report.sections.circuit_section import circuit_sections
from latticework.report.sections.client_section import client_section
from latticework.report.sections.head_section import key_fact, level_fact, notes_section, precision_fact, run_facts
from latticework.report.sections.interface_section import interface_section
from latticework.report.sections.kept_section import kept_sections
from latticework.report.sections.key_section import keys_section
from latticework.report.sections.layout_choice_section import choice_sections
from latticework.report.sections.layouts_section import layout_section
from latticework.report.sections.memory_budget_section import budget_sections
from latticework.report.sections.owner_section import owner_sections
from latticework.report.sections.rows_section import rows_sections
from latticework.report.sections.time_section import time_section, timeline_section
from latticework.report.sections.work_section import work_sections


def plan_document(report: Contents) -> Document:
    """All of it."""
    return Document(
        report.name,
        "compiled to run on encrypted data",
        f"{report.name} · latticework report",
        f"Program {report.name}",
        report.security.warning(),
        _figures(report),
        tuple(_sections(report)),
    )


def _figures(report: Contents) -> FactList:
    """The key figures, as a list of facts."""
    exact = bool(report.plain_modulus)
    items = [
        report.security.fact(),
        precision_fact(report.precision_bits, report.plain_modulus, report.outputs),
        level_fact(report.level_use, report.levels, report.special_bits, is_exact=exact),
        *([] if report.execution is None else run_facts(report.execution.estimate)),
        *([] if report.row is None else [report.row.fact()]),
        key_fact(report.keys),
    ]
    data = {
        "name": report.name,
        "security": report.security,
        "precision_bits": report.precision_bits,
        "plain_modulus": report.plain_modulus or None,
        "levels": report.level_use.data(),
        "row": report.row,
    }
    return FactList(tuple(items), data=data)


def _sections(report: Contents) -> Iterator[Section]:
    has_code, exact, security = report.execution is not None, bool(report.plain_modulus), report.security
    yield interface_section(report.inputs, report.arguments, report.outputs, is_exact=exact, explains=not has_code)
    yield from owner_sections(report.owner)
    if report.execution is not None:
        yield from _execution(report.execution)
    yield client_section(report.client)
    yield keys_section(report.keys, None if security.insecure else security.limit_bits)
    yield chain_section(report.levels, report.special_bits, report.digits)
    yield notes_section(report.notes)


def _execution(execution: Execution) -> Iterator[Section]:
    cost = execution.estimate
    yield from kept_sections(execution.kept)
    yield timeline_section(execution.timeline, execution.loops)
    yield time_section(cost, execution.lines, execution.table)
    yield from bootstrap_sections(execution.bootstraps, cost.warm_seconds)
    yield approximation_section(execution.approximations, execution.loss, execution.scores)
    yield from circuit_sections(execution.circuit)
    yield layout_section(execution.layouts)
    yield from choice_sections(execution.choice)
    yield from rows_sections(execution.rows_choice)
    yield from work_sections(cost, execution.instructions)
    yield from budget_sections(execution.under_budget)
