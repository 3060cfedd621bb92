"""A private look-up and a private intersection: the server learns neither the question nor the answer.

Both are ready programs on exact integers, and need no evaluation keys. Everything is compared with Python.
"""

import numpy as np

import latticework as lw


def ask(program, question):
    """Encrypt a question, answer it on a server, and decrypt; with the bytes that are sent and returned."""
    model = lw.compile(program, scheme="bfv")
    client, server = model.client(), model.server()
    client.keygen()
    asked = client.encrypt(question)
    answered = server(asked)
    sizes = " and ".join(f"{len(each.to_bytes()) // 1000} kB" for each in (asked, answered))
    return client.decrypt(answered), sizes


def main(rows=30_000, served=10_000, asked=1_000):
    """Look up a row that is there and one that is not, and share a tenth of a set."""
    rng = np.random.default_rng(5)
    ids = rng.choice(1 << 32, rows, replace=False).tolist()
    prices = dict(zip(ids, rng.integers(0, 100_000, (rows, 4)).tolist(), strict=True))
    for key in (ids[7], next(number for number in range(rows + 1) if number not in prices)):
        answer, sizes = ask(lw.private_lookup(prices), key)
        row = answer["row"].reveal().tolist() if answer["found"].reveal() else None
        assert row == prices.get(key)
        print(f"one of {rows} rows, {'not ' if row is None else ''}found: {sizes}")
    mine = [*ids[: asked // 10], *ids[served:][: asked - asked // 10]]
    common, sizes = ask(lw.set_intersection(ids[:served], asked), mine)
    assert set(common.reveal().tolist()) == set(ids[:served]) & set(mine)
    print(f"{asked} against {served} identifiers, {len(common.reveal())} in common: {sizes}")


if __name__ == "__main__":
    main()
