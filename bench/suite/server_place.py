"""A folder for the stages of the server, in which there is nothing of the client but what it sends."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from latticework.errors import SecretKeyError
from latticework.plan.files.serialise import is_secret_key


class ServerPlace:
    """The server's folder, beside the client's.

    client  the folder with `submission`, `datasets` and `io`, where the stages of the client run
    root    the server's, where its own run; it is made anew
    """

    def __init__(self, client: Path, root: Path) -> None:
        self.client, self.root = client, root
        shutil.rmtree(root, ignore_errors=True)
        root.mkdir(parents=True)
        link_tree(client / "submission", root / "submission")

    def send(self, folders: Iterable[str]) -> None:
        """Give the server what the client has in these folders now, and nothing else of them.

        raises  SecretKeyError for a secret key, or a link out of the server's folder, anywhere within it
        """
        for folder in folders:
            shutil.rmtree(self.root / folder, ignore_errors=True)
            if (self.client / folder).is_dir():
                link_tree(self.client / folder, self.root / folder)
        refuse_secrets(self.root)

    def fetch(self, folder: str) -> None:
        """Give the client what the server has in a folder now, and nothing else."""
        shutil.rmtree(self.client / folder, ignore_errors=True)
        if (self.root / folder).is_dir():
            link_tree(self.root / folder, self.client / folder)


@contextmanager
def without_secrets(root: Path) -> Iterator[None]:
    """While this lasts no secret key is in a folder; then each is where it was, for its owner alone.

    They are in the memory of this process, so they are lost with it: for keys of a benchmark, which are made anew.
    """
    kept = {file: file.read_bytes() for file in root.rglob("*") if file.is_file() and is_secret_key(str(file))}
    for file in kept:
        file.unlink()
    try:
        yield
    finally:
        for file, data in kept.items():
            with open(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as written:
                written.write(data)


def link_tree(source: Path, target: Path) -> None:
    """Make a folder with the same files as another, which take no more space."""
    shutil.copytree(source, target, copy_function=os.link, symlinks=True)


def refuse_secrets(root: Path) -> None:
    """SecretKeyError for a folder of a server from which a secret key can be read, or a file of somewhere else."""
    for file in sorted(root.rglob("*")):
        if file.is_symlink() and not file.resolve().is_relative_to(root.resolve()):
            raise SecretKeyError(
                f"{file} is a link to {file.resolve()}, outside of the server's folder, where secret keys may be; "
                "put the file itself there"
            )
        if file.is_file() and is_secret_key(str(file)):
            raise SecretKeyError(
                f"{file} is a secret key, within reach of the server; keep it out of what is sent: only "
                "evaluation.lwkeys of a key folder is for servers"
            )
