"""Files of latticework in a folder: what each is, and whether those that have to fit together do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from latticework.errors import UserError
from latticework.errors.escaping import plain_text
from latticework.lazy_dataclass import dataclass
from latticework.plan.files.serialise import interface_id, read_client
from latticework.values.extension import _core

MOST_FILES = 1000  # that are looked at
DEPTH = 4  # of files below the given folder: keys of clients and servers lie two folders down
MAGIC = b"LATTICE\n"  # that every container begins with (cpp/io/container.hpp)
ENDINGS = (".lwplan", ".lwclient", ".lwkey", ".lwkeys", ".lwct")  # that commands give to files
KINDS = {
    _core.FileKind.PLAN: "plan",
    _core.FileKind.CLIENT: "client file",
    _core.FileKind.SECRET_KEY: "secret key",
    _core.FileKind.PUBLIC_KEY: "public key",
    _core.FileKind.EVALUATION_KEYS: "evaluation keys",
    _core.FileKind.CIPHERTEXTS: "ciphertexts",
    _core.FileKind.PLAINTEXTS: "plaintexts",
}
PROGRAMS = ("plan", "client file")
KEYS = ("secret key", "public key", "evaluation keys")


@dataclass(frozen=True)
class FolderFile:
    """One file, as its first bytes and its header tell; what follows is not read.

    path        below the folder
    program     its name; of ciphertexts that of which they are inputs or outputs
    role        "inputs" or "outputs" of ciphertexts
    parameters  in hexadecimal: the same in all files that go together
    interface   in hexadecimal, of one compilation; of plans, client files and ciphertexts
    key_set     in hexadecimal, of one secret key; of keys and ciphertexts
    damage      why it cannot be read; all else is empty then
    """

    path: Path
    kind: str = ""
    program: str = ""
    role: str = ""
    parameters: str = ""
    interface: str = ""
    key_set: str = ""
    damage: str = ""

    @property
    def ids(self) -> tuple[str, str, str]:
        """Parameters, compilation and key set, by which files belong together."""
        return self.parameters, self.interface, self.key_set


@dataclass(frozen=True)
class Mismatch:
    """Files that do not belong together, or one that is of no use here; `remedy` is a command or what to do."""

    files: tuple[Path, ...]
    text: str
    remedy: str


def read_folder(folder: Path) -> list[FolderFile]:
    """Every file of latticework in a folder and the folders of it, in the order of their paths.

    raises  UserError if there are more than MOST_FILES files; OSError as the folder does
    """
    return [_read_file(folder, path) for path in _find_files(folder)]


def find_mismatches(found: Sequence[FolderFile]) -> list[Mismatch]:
    """Whatever does not fit together among files of one folder; of a program that is alone here, nothing is said."""
    whole = [file for file in found if not file.damage]
    return [
        *(Mismatch((f.path,), f.damage, "copy it anew from where it was made") for f in found if f.damage),
        *_of_compilations(whole),
        *_of_keys(whole),
        *_of_ciphertexts(whole),
    ]


def _find_files(folder: Path) -> Iterator[Path]:
    """Files that begin as those of latticework do, or are named so."""
    number = 0
    for path in sorted(folder.rglob("*")):
        if len(path.relative_to(folder).parts) > DEPTH or path.is_symlink() or not path.is_file():
            continue
        number += 1
        if number > MOST_FILES:
            raise UserError(f"{folder}: there are more than {MOST_FILES} files; give a folder of one program")
        if path.suffix in ENDINGS or _begins_as_container(path):
            yield path


def _begins_as_container(path: Path) -> bool:
    """Whether the first bytes are those of a container; what cannot be opened is somebody else's."""
    try:
        with path.open("rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def _read_file(folder: Path, path: Path) -> FolderFile:
    short = path.relative_to(folder)
    try:
        reader = _core.ContainerReader(str(path), kinds=[int(kind) for kind in KINDS])
        kind, parameters = KINDS[_core.FileKind(reader.kind)], bytes(reader.parameters).hex()
        if kind in PROGRAMS:
            spec = read_client(path)
            return FolderFile(short, kind, spec.name, "", parameters, interface_id(spec).hex())
        header = reader.header
        extras = header.get("extras")
        extras = extras if isinstance(extras, dict) else {}
        program, role = (value if isinstance(value, str) else "" for value in map(extras.get, ("program", "role")))
        interface, key_set = (
            value.hex() if isinstance(value, bytes) else ""
            for value in (extras.get("interface"), header.get("key_set"))
        )
        return FolderFile(short, kind, program, role, parameters, interface, key_set)
    except (UserError, OSError) as error:
        return FolderFile(short, damage=plain_text(error))


def _of_compilations(found: Sequence[FolderFile]) -> Iterator[Mismatch]:
    """Plans without their client file, and client files without their plan, where the same program has the other."""
    for kind, other in (PROGRAMS, PROGRAMS[::-1]):
        for file in (each for each in found if each.kind == kind):
            others = [each for each in found if each.kind == other and each.program == file.program]
            if others and not any(each.interface == file.interface for each in others):
                yield Mismatch(
                    (file.path, *(each.path for each in others)),
                    f"{file.path} is of another compilation of {file.program} than every {other} here",
                    f"`latticework compile` writes both: keep those of one; `latticework explain {file.path}`",
                )


def _of_keys(found: Sequence[FolderFile]) -> Iterator[Mismatch]:
    """Keys of other parameters than all programs, and keys of one folder that are of several secret keys."""
    programs = [each for each in found if each.kind in PROGRAMS]
    keys = [each for each in found if each.kind in KEYS]
    for file in keys:
        if programs and all(each.parameters != file.parameters for each in programs):
            yield Mismatch(
                (file.path,),
                f"{file.path} is for other parameters than every program here",
                f"latticework keygen {_client_of(programs)} -o NEW_FOLDER",
            )
    homes = {kind: {each.path.parent for each in found if each.kind == kind} for kind in PROGRAMS}
    for file in keys:
        above = {file.path.parent, *file.path.parent.parents}
        if file.kind == "secret key" and above & homes["plan"] - {Path()} and not above & homes["client file"]:
            yield Mismatch(
                (file.path,),
                f"{file.path} lies where a plan is and no client file: a server needs no secret key, and refuses one",
                "move it to its owner alone, and make new keys if anybody else may have read it",
            )
    for parent in sorted({file.path.parent for file in keys}):
        beside = [file for file in keys if file.path.parent == parent]
        if len({file.key_set for file in beside}) > 1:
            yield Mismatch(
                tuple(file.path for file in beside),
                f"the keys in {parent} are of several secret keys: {', '.join(str(f.path.name) for f in beside)}",
                f"keep those of one key set in a folder; `latticework explain {beside[0].path}` names it",
            )


def _of_ciphertexts(found: Sequence[FolderFile]) -> Iterator[Mismatch]:
    """Ciphertexts of another compilation than all programs, or of a key set that no key here is of."""
    programs = [each for each in found if each.kind in PROGRAMS]
    key_sets = {each.key_set for each in found if each.kind in KEYS}
    for file in (each for each in found if each.kind == "ciphertexts"):
        if programs and file.interface and all(each.interface != file.interface for each in programs):
            yield Mismatch(
                (file.path,),
                f"{file.path} holds {file.role or 'ciphertexts'} of another compilation of {file.program}",
                f"latticework encrypt {_client_of(programs)} INPUT.npy -o {file.path} --force"
                if file.role == "inputs"
                else f"run its inputs anew: `latticework explain {file.path}` says of what it is",
            )
        elif key_sets and file.key_set and file.key_set not in key_sets:
            yield Mismatch(
                (file.path,),
                f"{file.path} was encrypted for a secret key that none of the keys here belongs to",
                "bring the keys that belong to it, or encrypt anew",
            )


def _client_of(programs: Sequence[FolderFile]) -> str:
    """A client file to name in a command."""
    return str(next((each.path for each in programs if each.kind == "client file"), "CLIENT_FILE"))
