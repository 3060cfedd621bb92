"""The kernels of latticework for devices of SYCL: a library that latticework loads when such a device is asked for, and
the sources that its kernels are compiled from then.
"""

import os
from ctypes import CDLL
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

LIBRARY = Path(__file__).with_name("liblatticework_sycl.so")
SOURCES = Path(__file__).with_name("sources")
RUNTIME = {  # packages of Intel, and their libraries that are opened, in this order
    "intel-cmplr-lib-ur": "libur_loader.so.0",
    "intel-sycl-rt": "libsycl.so.9",
    "intel-opencl-rt": "libOpenCL.so.1",
}
PROCESSOR = ("intel-opencl-rt", "libintelocl.so")  # the device of OpenCL that is the processor
EXACT = {"CL_CONFIG_USE_FAST_RELAXED_MATH": "False"}  # for this device: as no other bits are right


def open_runtime() -> None:
    """Open Intel's runtime of SYCL by the paths of its files, so that no search path has to name them, and say where
    the processor's device is.

    raises  OSError for what is not installed, or cannot be opened
    """
    os.environ.update(EXACT)
    processor = _file(*PROCESSOR)
    listed = os.environ.get("OCL_ICD_FILENAMES", "").split(os.pathsep)
    if processor is not None and str(processor) not in listed:
        os.environ["OCL_ICD_FILENAMES"] = os.pathsep.join([str(processor), *filter(None, listed)])
    for package, library in RUNTIME.items():
        try:
            CDLL(str(_file(package, library) or library))
        except OSError as error:
            raise OSError(f"{library} cannot be opened ({error}); install {package}, as requirements of "
                          "latticework-sycl say") from None  # fmt: skip


def _file(package: str, name: str) -> Path | None:
    """The path of a package's file; None where the package or the file is not there."""
    try:
        files = distribution(package).files or []
    except PackageNotFoundError:
        return None
    found = (Path(str(file.locate())).resolve() for file in files if file.name == name)
    return next((path for path in found if path.is_file()), None)
