"""Programs whose runs are recorded on a simulated device, beside what the host makes of their inputs."""

from typing import Any

import latticework as lw
from latticework import _core
from latticework.plan.analysis.kept_constants import all_bytes, encodings
from latticework.plan.analysis.trip_counts import TripCounts
from latticework.plan.cost import CostModel
from latticework.plan.schema.schema import Plan


class Case:
    """A model with its owner, and what the host makes of its inputs."""

    def __init__(self, program, inputs, calibrate, **options):
        self.model = lw.compile(program, calibrate=calibrate, ring_degree=1024, insecure=True, **options)
        self.client = self.model.client()
        self.keys = self.client.keygen().public()
        self.inputs = [self.client.encrypt(**one) for one in inputs]
        host = self.model.server(self.keys)
        self.expected = [host(one).to_bytes() for one in self.inputs]

    def server(self, **options):
        return self.model.server(self.keys, **options)

    def constants(self) -> tuple[int, int]:
        """As of `constant_bytes`."""
        return constant_bytes(self.model.plan)


def constant_bytes(plan: Plan) -> tuple[int, int]:
    """Of all coefficients, at most, and of all plaintexts."""
    return all_bytes(encodings(plan, TripCounts(plan, None), CostModel.load()))


def asked_of(server, x, client, device: _core.SimulatedDevice) -> tuple[bytes, dict[str, Any]]:
    """The result of a run whose inputs are on the device already, and what was asked of it for that."""
    x_again = client.load_encrypted(x.to_bytes())
    server(x_again)
    device.reset_counters()
    result = server(x_again)
    asked = device.counters()
    return result.to_bytes(), asked
