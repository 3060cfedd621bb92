"""What users hand to clients and servers by mistake: values, options, keys, ciphertexts of something else."""

import re

import numpy as np
import pytest
from e2e_cases import INSECURE_SMALL, Deployed, compile_affine, uniform

import latticework as lw
from latticework import _core
from latticework.errors import (
    BudgetError,
    DtypeError,
    FormatError,
    LevelError,
    MissingKeyError,
    ParameterMismatchError,
    RangeError,
    SecretKeyError,
    ShapeError,
    TraceError,
    UserError,
)
from latticework.runtime.server import server as runtime_server

X = uniform(4)


@pytest.fixture(scope="module")
def other_keys(deployed):
    """The same program and parameters, another client."""
    return Deployed(deployed.model, deployed.data)


@pytest.fixture(scope="module")
def other_parameters():
    """The same program on another ring."""
    return Deployed(compile_affine(ring_degree=4096), X)


def refused(kind, message, action):
    with pytest.raises(kind, match=message) as caught:
        action()
    assert type(caught.value) is kind
    text = str(caught.value)
    assert "object at 0x" not in text and "incompatible function arguments" not in text and len(text) < 500
    return text


# Values


VALUES = {
    "shape": (np.ones(5), ShapeError, r"has shape \(5,\), the program was compiled for \(4,\)"),
    "shape to reshape": (np.ones((2, 2)), ShapeError, r"has shape \(2, 2\), .* \(4,\); reshape it to \(4,\)"),
    "empty": (np.ones(0), ShapeError, r"has shape \(0,\)"),
    "text": (np.array(list("abcd")), DtypeError, "has dtype <U1; give real numbers"),
    "objects": (np.array([1, 2, None, 4]), DtypeError, "has dtype object; give real numbers"),
    "None": (None, DtypeError, "has dtype object; give real numbers"),
    "complex": (1j * X, DtypeError, "has dtype complex128; give real numbers"),
    "dates": (np.zeros(4, "M8[s]"), DtypeError, r"has dtype datetime64\[s\]"),
    "ragged": ([[1.0], [1.0, 2.0]], DtypeError, "is a list of rows of different lengths; give an array"),
    "NaN": (
        np.array([0, np.nan, 0, np.nan]),
        RangeError,
        r"column 1 is NaN or infinite \(and 1 more value is not taken\): replace it",
    ),
    "infinity": (np.array([0, 0, -np.inf, 0]), RangeError, "column 2 is NaN or infinite: replace it"),
    "beyond float64": (
        np.full(4, np.longdouble("1e400")),
        RangeError,
        r"column 0 is NaN or infinite \(and 3 more values are not taken\)",
    ),
    "outside": (
        np.array([0, 3, 0, -0.5]),
        RangeError,
        r"input x, column 1 is outside -1\.\d+ to 1\.\d+, as calibrated: .*scale the input, .*calibrate=",
    ),
}


@pytest.mark.parametrize(("value", "kind", "message"), VALUES.values(), ids=VALUES)
def test_values_are_checked_before_anything_is_encrypted(deployed, value, kind, message):
    without_keys = deployed.model.client(threads=1)  # so these checks come even before the one for keys
    assert ": program affine, input x" in refused(kind, message, lambda: without_keys.encrypt(value))
    refused(kind, message, lambda: deployed.client.encrypt(x=value))


def test_inputs_by_position_and_name(deployed):
    encrypt = deployed.client.encrypt
    refused(TraceError, "program affine has the inputs x; missing: x; unknown or given twice: none", encrypt)
    refused(TraceError, "has the inputs x; got 2 values", lambda: encrypt(X, X))
    refused(TraceError, "missing: x; unknown or given twice: y", lambda: encrypt(y=X))
    refused(TraceError, "missing: none; unknown or given twice: x", lambda: encrypt(X, x=X))


def test_run_time_integers():
    @lw.program
    def power(x: lw.Secret[4], n: lw.Index):
        return lw.for_loop(n, lambda i, y: y * x, x, at_most=3)

    client = lw.compile(power, calibrate={"x": uniform((20, 4)), "n": 2}, **INSECURE_SMALL).client(threads=1)
    client.keygen()
    refused(
        RangeError,
        r"input n is 3; .* compiled for 0 to 2: compile with calibrate=\{..., 'n': 3\}",
        lambda: client.encrypt(X, 3),
    )
    refused(
        RangeError, "input n is -1; .* compiled for 0 to 2: give a number in this range", lambda: client.encrypt(X, -1)
    )
    for value, name in ((2.0, "float"), ("2", "str"), (True, "bool"), (np.ones(1), "ndarray")):
        refused(DtypeError, f"input n is a {name}; give a whole number", lambda value=value: client.encrypt(X, value))
    assert client.encrypt(X, np.int64(2)).integers == {"n": 2}


def test_server_checks_what_a_client_should_have(deployed):
    inputs = deployed.client.encrypt(X)
    empty = lw.Encrypted("inputs", "affine", inputs.interface, {}, {})
    refused(ShapeError, "program affine: the encrypted input x is missing", lambda: deployed.server(empty))
    (output,) = deployed.server(inputs).tensors.values()
    spent = lw.Encrypted("inputs", "affine", inputs.interface, {"x": output}, {})
    refused(LevelError, "level 0.*the plan takes.*level 1", lambda: deployed.server(spent))


# Options


OPTIONS = {
    "memory in bananas": ({"memory": "4 bananas"}, "memory='4 bananas' is not an amount of memory; write it as '4GB'"),
    "memory in nothing": ({"memory": ""}, "memory='' is not an amount"),
    "negative memory": ({"memory": -1}, "memory=-1 is not an amount"),
    "fractional memory": ({"memory": 4.5}, "memory=4.5 is not an amount"),
    "true memory": ({"memory": True}, "memory=True is not an amount"),
    "device": (
        {"device": "gpu"},
        'device=\'gpu\' is no device; choose "cpu", "cuda", "sim", "sycl:cpu", "sycl:gpu", or one with its number',
    ),
    "devices": ({"device": ["cpu", "sim"]}, "device=cpu, sim:0: several devices are all of one kind"),
    "no device": ({"device": []}, r"device=\[\]: name at least one device, or 'cpu'"),
    "negative threads": ({"threads": -1}, "threads=-1; give a whole number from 1 to 1024, or 0 for one per core"),
    "fractional threads": ({"threads": 1.5}, "threads=1.5"),
    "too many threads": ({"threads": 10**9}, "threads=1000000000; give"),
}


@pytest.mark.parametrize(("options", "message"), OPTIONS.values(), ids=OPTIONS)
def test_options_of_servers(deployed, files, options, message):
    refused(UserError, message, lambda: deployed.model.server(deployed.keys.public(), **options))
    refused(UserError, message, lambda: lw.Server.load(files["plan"], files["evaluation keys"], **options))


def test_options_of_mapped_keys(deployed, files):
    for amount in ("4 bananas", -1, True):
        message = f"key_memory={amount!r} is not an amount of memory"
        refused(
            UserError,
            message,
            lambda amount=amount: lw.Server.load(files["plan"], files["evaluation keys"], key_memory=amount),
        )
    for readers in (-1, 1.5, True):
        message = f"key_readers={readers!r}; give a whole number"
        refused(
            UserError,
            message,
            lambda readers=readers: lw.Server.load(
                files["plan"], files["evaluation keys"], key_memory="1GB", key_readers=readers
            ),
        )


def test_less_memory_for_keys_than_a_line_needs(files):
    """When the server is made, with the least that is enough, and whose line it is for."""
    for amount in (0, "1KB"):
        with pytest.raises(UserError, match="program affine: key_memory is .* bytes; the least") as caught:
            lw.Server.load(files["plan"], files["evaluation keys"], key_memory=amount)
    least = int(re.search(r"it runs is (\d+) ", str(caught.value))[1])
    assert re.search(r"for \w+ of .*\.py:\d+: give it", str(caught.value))
    assert lw.Server.load(files["plan"], files["evaluation keys"], key_memory=least)
    with pytest.raises(UserError, match=f"is {least} "):
        lw.Server.load(files["plan"], files["evaluation keys"], key_memory=least - 1)


def test_keys_larger_than_the_machine(deployed, files, monkeypatch):
    """Before they are read; with key_memory they stay in their file."""
    needed = deployed.model.plan.client.manifest.total_resident_bytes
    monkeypatch.setattr(runtime_server, "machine_bytes", lambda: needed - 1)
    monkeypatch.setattr(_core, "load_evaluation_keys", None)  # not reached
    message = (
        rf"program affine: its . evaluation keys? takes? {needed} bytes \(.*\) in memory, and this machine has "
        rf"{needed - 1} \(.*\): leave them in their file with memory='4GB'"
    )
    refused(UserError, message, lambda: lw.Server.load(files["plan"], files["evaluation keys"]))
    assert lw.Server.load(files["plan"], files["evaluation keys"], key_memory="1MB")


@pytest.mark.parametrize("memory", [None, "4GB", "512 MiB", "1.5 gb", 10**30, "99999999999TB"])
def test_amounts_of_memory(deployed, memory):
    assert "affine" in repr(deployed.model.server(deployed.keys.public(), memory=memory, threads=1))


@pytest.mark.parametrize("memory", [0, 1, "0", "10 B", "100KB"])
def test_amounts_of_memory_that_are_too_little(deployed, files, memory):
    message = r"program affine: memory=.* is too little: it needs .* for values.*; give at least .* \(\d+ bytes\)"
    refused(BudgetError, message, lambda: deployed.model.server(deployed.keys.public(), memory=memory))
    refused(BudgetError, message, lambda: lw.Server.load(files["plan"], files["evaluation keys"], memory=memory))


def test_keys_of_a_folder_take_no_more_than_there_are(deployed, tmp_path):
    """Keys that keygen(folder) leaves in their file count as what the program reads of them, not as all it might."""
    model = deployed.model
    client = model.client(threads=1)
    public = client.keygen(tmp_path / "keys").public()
    with pytest.raises(BudgetError, match="too little") as caught:
        model.server(public, memory=0)
    least = int(re.search(r"at least .* \((\d+) bytes\)", str(caught.value))[1])
    refused(BudgetError, "too little", lambda: model.server(public, memory=least - 1))
    whole = model.plan.client.manifest.total_resident_bytes
    assert whole < least < whole + 10**7
    server, inputs = model.server(public, memory=least, threads=1), client.encrypt(X)
    assert server(inputs).to_bytes() == model.server(public, threads=1)(inputs).to_bytes()
    assert whole < server.key_traffic.peak_bytes < least


def test_keys_of_a_folder_are_not_saved_elsewhere(deployed, tmp_path):
    keys = deployed.model.client(threads=1).keygen(tmp_path / "keys")
    for save in (keys.save, keys.public().save):
        refused(UserError, "copy the file", lambda save=save: save(tmp_path / "other"))
        assert not (tmp_path / "other").exists()


# Secret keys where they must not be


def test_secret_keys_are_refused_by_servers(deployed, files):
    message = "a server must never hold one"
    for secret in (deployed.keys, deployed.keys._secret):
        text = refused(SecretKeyError, message, lambda secret=secret: deployed.model.server(secret))
        assert "server of affine" in text and "keys.public()" in text
    text = refused(SecretKeyError, message, lambda: lw.Server.load(files["plan"], files["secret key"]))
    assert str(files["secret key"]) in text and "evaluation.lwkeys" in text and "delete it" in text


@pytest.mark.parametrize("what", ["EvaluationKeys", "PublicKey", "str"])
def test_other_things_than_keys_are_refused_by_servers(deployed, what):
    public = deployed.keys.public()
    given = {"EvaluationKeys": public.evaluation, "PublicKey": public.encryption, "str": "keys"}
    text = refused(UserError, f"takes public keys, got {what}", lambda: deployed.model.server(given[what]))
    assert "keys.public()" in text and "Server.load" in text


def test_other_things_than_keys_are_refused_by_clients(deployed):
    client = deployed.model.client(threads=1)
    refused(
        UserError,
        r"use_secret_key takes a SecretKey, got Keys; load_keys",
        lambda: client.use_secret_key(deployed.keys),
    )
    refused(
        UserError,
        r"use_public_key takes a PublicKey, got PublicKeys: .*\.encryption",
        lambda: client.use_public_key(deployed.keys.public()),
    )


# Clients without keys


def test_client_without_keys(deployed):
    client = deployed.model.client(threads=1)
    assert "no keys yet" in repr(client)
    refused(SecretKeyError, r"has no key: call keygen\(\), or load_keys\(folder\), first", lambda: client.encrypt(X))
    outputs = deployed.server(deployed.client.encrypt(X))
    refused(SecretKeyError, r"no secret key, so it cannot decrypt: load_keys", lambda: client.decrypt(outputs))


def test_client_with_a_public_key_encrypts_but_does_not_decrypt(deployed, files):
    client = deployed.model.client(threads=1)
    client.load_public_key(files["public key"])
    outputs = deployed.server(client.encrypt(X))
    refused(SecretKeyError, "no secret key, so it cannot decrypt", lambda: client.decrypt(outputs))
    owner = deployed.client.decrypt(outputs)
    np.testing.assert_allclose(owner.reveal(), deployed.run(X).reveal(), atol=1e-3)


# Keys and ciphertexts that do not belong together


def test_a_key_of_the_manifest_is_missing(deployed):
    generator = _core.KeyGenerator(deployed.client.context)
    secret = generator.secret_key()
    specs = deployed.keys.public().evaluation.specs
    assert len(specs) > 1
    for absent in specs:
        present = [spec for spec in specs if spec is not absent]
        keys = lw.PublicKeys(generator.evaluation_keys(secret, present), None)
        text = refused(
            MissingKeyError,
            r"needs keys that the key set does not hold: .*; their owner makes them with client.public_keys\(beside=keys",
            lambda keys=keys: deployed.model.server(keys),
        )
        assert f"galois element {absent['galois_element']}" in text or "rotat" in text


def test_keys_of_another_key_set(deployed, other_keys):
    inputs = other_keys.client.encrypt(X)
    ours, theirs = (d.keys.public().evaluation.key_set[:8].hex() for d in (deployed, other_keys))
    refused(
        ParameterMismatchError,
        rf"program affine, input x was encrypted under key set {theirs}, the server has the keys of {ours}: "
        r"give it keys.public\(\)",
        lambda: deployed.server(inputs),
    )
    outputs = deployed.server(deployed.client.encrypt(X))
    refused(
        ParameterMismatchError,
        f"output result is encrypted under key set {ours}, this client has the secret key of {theirs}: use the client",
        lambda: other_keys.client.decrypt(outputs),
    )


def test_other_parameters(deployed, other_parameters):
    ours, theirs = (d.client.context.parameters.fingerprint[:8].hex() for d in (deployed, other_parameters))
    keys = other_parameters.keys.public()
    refused(
        ParameterMismatchError,
        f"was given keys of parameters {theirs}, its plan has {ours}: make the keys",
        lambda: deployed.model.server(keys),
    )
    inputs = other_parameters.client.encrypt(X)
    refused(
        ParameterMismatchError,
        f"input x was encrypted under parameters {theirs}, this plan has {ours}: encr",
        lambda: deployed.server(inputs),
    )
    outputs = other_parameters.server(inputs)
    refused(
        ParameterMismatchError,
        f"output result is encrypted under parameters {theirs}, this client has {ours}",
        lambda: deployed.client.decrypt(outputs),
    )
    for use, key in (("use_secret_key", other_parameters.keys._secret), ("use_public_key", keys.encryption)):
        client = deployed.model.client(threads=1)
        refused(
            ParameterMismatchError,
            f"key belongs to parameters {theirs}; these are parameters {ours}",
            lambda client=client, use=use, key=key: getattr(client, use)(key),
        )
        assert "no keys yet" in repr(client)


def test_other_parameters_in_files(files, other_parameters):
    loads = {
        "secret key": other_parameters.client.load_keys,
        "public key": other_parameters.client.load_public_key,
        "inputs": other_parameters.server.load_encrypted,
        "outputs": other_parameters.client.load_encrypted,
    }
    for name, load in loads.items():
        refused(
            ParameterMismatchError,
            rf"{re.escape(str(files[name]))} belongs to parameters [0-9a-f]+; these are",
            lambda load=load, name=name: load(files[name]),
        )


# Inputs for outputs, one program for another


def test_roles(deployed):
    inputs = deployed.client.encrypt(X)
    outputs = deployed.server(inputs)
    refused(
        FormatError,
        "these are the inputs of program affine, not its outputs: run them on the server first",
        lambda: deployed.client.decrypt(inputs),
    )
    refused(
        FormatError,
        "these are the outputs of program affine, not its inputs: they are for client.decrypt",
        lambda: deployed.server(outputs),
    )


def test_outputs_that_are_missing(deployed):
    empty = lw.Encrypted("outputs", "affine", deployed.client.encrypt(X).interface, {}, {})
    refused(ShapeError, "program affine: outputs result are missing", lambda: deployed.client.decrypt(empty))


def test_programs(deployed, deployed_curved):
    inputs = deployed_curved.client.encrypt(uniform(16))
    refused(
        FormatError,
        "inputs of program 'curved'; expected those of 'affine': use the plan and client",
        lambda: deployed.server(inputs),
    )
    outputs = deployed_curved.server(inputs)
    refused(
        FormatError, "outputs of program 'curved'; expected those of 'affine'", lambda: deployed.client.decrypt(outputs)
    )


def test_what_is_not_encrypted_at_all(deployed, files):
    inputs = deployed.client.encrypt(X)
    for given, remedy in ((X, "encrypt it with client.encrypt"), (inputs.to_bytes(), "read it with load_encrypted"),
                          (str(files["inputs"]), "read it with load_encrypted")):  # fmt: skip
        text = refused(FormatError, remedy, lambda given=given: deployed.server(given))
        assert f"expected the encrypted inputs of program affine, got {type(given).__name__}" in text
    refused(FormatError, "got ndarray: run the server on encrypted inputs first", lambda: deployed.client.decrypt(X))
