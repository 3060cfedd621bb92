"""The example of a pass of one's own: it saves a rotation, and results stay within their bounds."""

from e2e_cases import example


def test_the_pass_saves_a_rotation():
    before, after, error, bound = example("peephole").run()
    assert (before, after) == (2, 1) and error <= bound
