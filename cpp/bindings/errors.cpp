// lw::Error becomes the Python class of the same meaning.
#include "bindings/bindings.hpp"
#include "io/file.hpp"
#include "math/error.hpp"

namespace nb = nanobind;

namespace lw {
namespace {

/// Name of the class in latticework.errors; nullptr for the kinds that have a built-in one.
const char* class_name(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kShape:
      return "ShapeError";
    case ErrorKind::kRange:
      return "RangeError";
    case ErrorKind::kLevel:
      return "LevelError";
    case ErrorKind::kScale:
      return "ScaleError";
    case ErrorKind::kSecurity:
      return "SecurityError";
    case ErrorKind::kMissingKey:
      return "MissingKeyError";
    case ErrorKind::kParameterMismatch:
      return "ParameterMismatchError";
    case ErrorKind::kSecretKey:
      return "SecretKeyError";
    case ErrorKind::kDecryption:
      return "DecryptionError";
    case ErrorKind::kFormat:
      return "FormatError";
    case ErrorKind::kDevice:
      return "DeviceError";
    default:
      return nullptr;
  }
}

PyObject* builtin_class(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kIo:
      return PyExc_OSError;
    case ErrorKind::kOutOfMemory:
      return PyExc_MemoryError;
    case ErrorKind::kCancelled:
      return PyExc_KeyboardInterrupt;
    default:
      return PyExc_ValueError;
  }
}

/// The message of an error on one line, with everything printable: messages quote names from files, and file names need
/// not even be UTF-8.
nb::object message_of(const Error& error) {
  const nb::object text = nb::steal(PyUnicode_DecodeFSDefault(error.what()));
  if (!text.is_valid()) throw nb::python_error();
  return nb::module_::import_("latticework.errors.escaping").attr("plain_text")(text);
}

void raise(const Error& error) {
  const char* name = class_name(error.kind());
  if (name == nullptr) {
    PyErr_SetObject(builtin_class(error.kind()), message_of(error).ptr());
    return;
  }
  const nb::object type = nb::module_::import_("latticework.errors").attr(name);
  PyErr_SetObject(type.ptr(), message_of(error).ptr());
}

void raise(const IoError& error) {
  const nb::object message = message_of(error);
  const nb::object arguments = nb::steal(Py_BuildValue("(iO)", error.code(), message.ptr()));
  if (arguments.is_valid()) PyErr_SetObject(PyExc_OSError, arguments.ptr());
}

void translate(const std::exception_ptr& pointer, void*) {
  try {
    try {
      std::rethrow_exception(pointer);
    } catch (const IoError& error) {
      raise(error);
    } catch (const Error& error) {
      raise(error);
    }
  } catch (nb::python_error& failed) {
    failed.restore();
  }
}

}  // namespace

void bind_errors(nb::module_&) { nb::register_exception_translator(translate); }

}  // namespace lw
