"""What a compiler may use to make a program fast; each can be left out, to see what it gives."""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Techniques:
    """What `lw.compile` may use. Everything by default; what a program computes does not depend on it.

    layout_search         layouts are searched; else every tensor lies in order, and operands are moved to where all
                          loops of an operation lie in order
    rolls                 layouts offered to the search may be rolled
    measured_costs      the search goes by predicted seconds; else by counts, as Rotom does: 4 for a rotation, 10 for
                          a product, 0.5 for an addition
    client_copies         a client may send a tensor with its elements repeated in slots that would be empty
    spread_sums           copies of a result may share out the sums of a linear map, and are added up by rotations
    baby_steps            diagonals of a linear map by baby steps and giant steps; else one rotation for each
    tuned_widths          how many baby steps follows from the cost table; else the power of two with which there are
                          the fewest steps
    hoisting              rotations of one value share its decomposition, and sums of rotations one division
    complex_packing       linear maps of real values may use the imaginary halves of slots
    merged_maps           runs of linear operations become fewer linear maps
    hoisted_invariants    what is the same in every iteration of a loop that bootstraps is made once, public factors of
                          such values included
    reassociated          and so are products of such values that were factors one after the other; sums of products are
                          factored
    shared_babies         linear maps of one value are carried out as one: they share its baby steps
    shared_giants         linear maps that are added up are carried out as one: they share giant steps
    shared_bootstraps     bootstraps of one kind are one block of a plan; else each is written out where it stands
    lazy_relinearization  sums of products are relinearised once;  lazy_rescaling  and rescaled once
    """

    layout_search: bool = True
    rolls: bool = True
    measured_costs: bool = True
    client_copies: bool = True
    spread_sums: bool = True
    baby_steps: bool = True
    tuned_widths: bool = True
    hoisting: bool = True
    complex_packing: bool = True
    merged_maps: bool = True
    hoisted_invariants: bool = True
    reassociated: bool = True
    shared_babies: bool = True
    shared_giants: bool = True
    shared_bootstraps: bool = True
    lazy_relinearization: bool = True
    lazy_rescaling: bool = True

    @property
    def left_out(self) -> tuple[str, ...]:
        """The names of those that are not used."""
        return tuple(f.name for f in fields(self) if not getattr(self, f.name))

    def __repr__(self) -> str:
        """Only what is left out: it is the default of an argument, which `help` shows."""
        return f"Techniques({', '.join(f'{name}=False' for name in self.left_out)})"


ALL = Techniques()
UNPACKED = Techniques(complex_packing=False)  # where nothing is known of whether values are real
ALONE = Techniques(complex_packing=False, shared_bootstraps=False)  # the same of one operation by itself
