"""What is read of keys under a budget, by the rule that docs/memory.md states: a simulation without threads and files."""

from collections import defaultdict


def windows_of(passes, slots, most_limbs):
    """Sets of rows (key, digit, limb) in the order in which they are needed; a pass: (keys, digits, limbs)."""
    windows = []
    for keys, digits, limbs in passes:
        at_once = min(max(slots // 2 // (len(keys) * digits), 1), most_limbs)
        count = -(-limbs // at_once)
        first = 0
        for i in range(count):
            size = limbs // count + (i < limbs % count)
            windows.append({(k, d, j) for k in keys for d in range(digits) for j in range(first, first + size)})
            first += size
    return windows


def reads_of(passes, slots, most_limbs=16):
    """How many rows are read."""
    windows = windows_of(passes, slots, most_limbs)
    uses = defaultdict(list)
    for position, window in enumerate(windows):
        for row in window:
            uses[row].append(position)
    resident, claimed, reads = set(), [], 0  # claimed: windows from the one in use on

    def next_use(row, now):
        return next((p for p in uses[row] if p >= now), len(windows))

    def claim(position, now, is_near):
        nonlocal reads, resident
        window = windows[position]
        held = set().union(window, *(windows[c] for c in claimed))
        missing = window - resident
        excess = len(missing) + len(resident) - slots
        if excess > 0:
            idle = [row for row in resident - held if is_near or next_use(row, now) == len(windows)]
            if len(idle) < excess:
                return False
            idle.sort(key=lambda row: (next_use(row, now), *row), reverse=True)
            resident -= set(idle[:excess])
        reads += len(missing)
        resident |= missing
        claimed.append(position)
        return True

    for now in range(len(windows)):  # the window `now` comes into use
        for position in range(now, len(windows)):
            if position not in claimed and not claim(position, now, position < now + 2):
                break
        assert now in claimed
        claimed.remove(now)
    return reads
