"""The page about models says which operators of PyTorch there are."""

import torch_table


def test_table_is_that_of_the_converters() -> None:
    _, written, _ = torch_table.parts()
    assert written == torch_table.table(), "python tests/unit/torch_table.py writes it anew"
