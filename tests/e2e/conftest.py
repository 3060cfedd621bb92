"""Compiled programs, their keys and files, made once."""

import pytest
from e2e_cases import INSECURE_SMALL, Deployed, compile_affine, curved, uniform

import latticework as lw


@pytest.fixture(scope="session")
def deployed():
    """affine: 4 inputs, 3 outputs, rotation keys."""
    return Deployed(compile_affine(), uniform((50, 4)))


@pytest.fixture(scope="session")
def deployed_curved():
    """curved: multiplications of secrets, a relinearization key."""
    data = uniform((50, 16))
    return Deployed(lw.compile(curved, calibrate=data, **INSECURE_SMALL), data)


@pytest.fixture(scope="session")
def files(deployed, tmp_path_factory):
    """Every kind of file of one program, by name."""
    folder = tmp_path_factory.mktemp("files")
    inputs = deployed.client.encrypt(deployed.data[0])
    deployed.model.save(folder / "affine.lwplan")
    deployed.client.save(folder / "affine.lwclient")
    deployed.keys.save(folder / "keys")
    inputs.save(folder / "inputs.lwct")
    deployed.server(inputs).save(folder / "outputs.lwct")
    return {
        "plan": folder / "affine.lwplan",
        "client": folder / "affine.lwclient",
        "secret key": folder / "keys" / "secret.lwkey",
        "public key": folder / "keys" / "public.lwkey",
        "evaluation keys": folder / "keys" / "evaluation.lwkeys",
        "inputs": folder / "inputs.lwct",
        "outputs": folder / "outputs.lwct",
    }
