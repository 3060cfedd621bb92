"""What the core does with keys under a budget, event by event and row by row: an oracle that knows no planner.

`Run` interprets code with real integers and writes down the rows of every window, from the text of the rule alone;
`Memory` then lets a computation and a reader go side by side on a clock, and holds them to the rule at every event.
"""

from bisect import bisect_right
from collections import defaultdict

MOST_LIMBS = 16


class Run:
    """The windows of a run of a plan, each a list of rows (key, digit, limb), in order."""

    def __init__(self, plan, integers, slots):
        self.plan, self.chain, self.slots = plan, plan.chain, slots
        self.registers = dict(zip(plan.blocks[0].arguments, integers, strict=True))
        self.windows, self.places = [], []
        self.block(0)

    def block(self, number):
        for place, instruction in enumerate(self.plan.blocks[number].code):
            read = [self.registers.get(o.register) for o in instruction.operands]
            match instruction.op:
                case "for":
                    for turn in range(read[0]):
                        self.registers[self.plan.blocks[instruction.immediate[0]].arguments[0]] = turn
                        self.block(instruction.immediate[0])
                case "if":
                    self.block(instruction.immediate[0 if read[0] else 1])
                case "call":
                    self.block(instruction.immediate[0])
                case "iconst":
                    self.registers[instruction.results[0]] = instruction.immediate[0]
                case "ilt":
                    self.registers[instruction.results[0]] = int(read[0] < read[1])
                case "yield" | "drop_level":
                    pass
                case _:
                    self.use((number, place), instruction)

    def use(self, place, instruction):
        """Every pass over the keys, one for each ciphertext, window by window."""
        chain, plan = self.chain, self.plan
        kinds = [plan.kind(o.register) for o in instruction.operands]
        keys = [kind.key for kind in kinds if hasattr(kind, "key")]
        at = plan.kind(instruction.results[0]) if instruction.op == "mod_raise" else kinds[0]
        q = sorted(limb for group in chain.tracks[at.track].groups[: at.level + 1] for limb in group)
        special = [len(chain.primes) + i for i in range(1 if instruction.op == "to_sparse" else len(chain.special))]
        digits = [d for d, limbs in enumerate(chain.digits) if any(limb in q for limb in limbs)]
        digits = [0] if instruction.op == "mod_raise" else digits
        limbs = special + q
        most = min(MOST_LIMBS, max(1, (self.slots // 2) // (len(keys) * len(digits))))
        number = (len(limbs) + most - 1) // most
        longer = len(limbs) % number
        for _ in range(plan.kind(instruction.results[0]).count):
            start = 0
            for window in range(number):
                end = start + len(limbs) // number + (1 if window < longer else 0)
                self.windows.append([(k, d, limb) for k in keys for d in digits for limb in limbs[start:end]])
                self.places.append(place)
                start = end


class Memory:
    """Slots, a computation and a reader. Victims are those that `farthest` prefers: by default of the latest next use."""

    def __init__(self, windows, slots, row_seconds=0.0, seconds=0.0, *, recent=False):
        self.windows, self.slots, self.row_seconds, self.seconds, self.recent = (
            windows,
            slots,
            row_seconds,
            seconds,
            recent,
        )
        self.uses = defaultdict(list)
        for number, window in enumerate(windows):
            for row in window:
                self.uses[row].append(number)
        self.held = {}  # row -> when it is there
        self.touched = {}
        self.claimed, self.done = 0, -1  # windows claimed; the last one that is done with
        self.loads, self.most, self.reader_free = 0, 0, 0.0
        self.absent = [0] * len(windows)
        self.now, self.stalled = 0.0, 0.0

    def run(self):
        self.claim_what_may_be()
        for number, window in enumerate(self.windows):
            assert self.claimed > number, "computed with what was not claimed"
            assert all(row in self.held for row in window), "a row is missing"
            ready = max(self.held[row] for row in window)
            self.stalled += max(0.0, ready - self.now)
            self.now = max(self.now, ready) + self.seconds
            for row in window:
                self.touched[row] = number
            self.done = number
            self.claim_what_may_be()
        return self

    def next_use(self, row):
        """The first use by a window that is not done with."""
        uses = self.uses[row]
        at = bisect_right(uses, self.done)
        return uses[at] if at < len(uses) else float("inf")

    def pinned(self):
        return {row for window in self.windows[self.done + 1 : self.claimed] for row in window}

    def claim_what_may_be(self):
        while self.claimed < len(self.windows):
            window, ahead = self.windows[self.claimed], self.claimed - self.done - 1
            missing = [row for row in window if row not in self.held]
            free = self.slots - len(self.held)
            if ahead == 0:
                assert len(window) <= self.slots
            elif ahead == 1 and len(self.pinned() | set(window)) > self.slots:
                return
            elif ahead > 1 and not self.recent:
                spent = sum(1 for row in self.held if self.next_use(row) == float("inf"))
                if len(missing) > free + spent:
                    return
            elif ahead > 1:
                return
            self.claim(window, missing, free)

    def claim(self, window, missing, free):
        keep = self.pinned() | set(window)
        if len(missing) > free:
            may_go = [row for row in self.held if row not in keep]
            order = (lambda row: -self.touched[row]) if self.recent else (lambda row: (self.next_use(row), row))
            for row in sorted(may_go, key=order, reverse=True)[: len(missing) - free]:
                del self.held[row]
        begin = max(self.reader_free, self.now)
        if missing:
            self.reader_free = begin + len(missing) * self.row_seconds
        for row in missing:
            self.held[row] = self.reader_free
        assert len(self.held) <= self.slots, "more than the budget"
        self.loads += len(missing)
        self.absent[self.claimed] = len(missing)
        self.most = max(self.most, len(self.held))
        self.claimed += 1
