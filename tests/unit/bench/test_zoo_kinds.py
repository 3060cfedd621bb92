"""README's table of costs is the stored results of the zoo."""

from bench.zoo.kinds import BLOCK, KINDS, README, RESULTS, costs


def test_the_table_of_readme_is_that_of_stored_results():
    assert BLOCK.search(README.read_text())[0] == costs(), "run python -m bench.zoo.kinds"
    assert all((RESULTS / kind.file).exists() for kind in KINDS)
