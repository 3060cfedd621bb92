#include "bindings/cbor_objects.hpp"

#include <string>

#include "bindings/buffers.hpp"

namespace nb = nanobind;

namespace lw {
namespace {

cbor::Value convert(nb::handle object, std::size_t depth);

cbor::Value integer(nb::handle object) {
  const nb::object number = nb::steal(PyNumber_Index(object.ptr()));
  if (!number.is_valid()) throw nb::python_error();
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(number.ptr(), &overflow);
  if (overflow == 0) {
    if (value == -1 && PyErr_Occurred() != nullptr) throw nb::python_error();
    return value;
  }
  if (overflow > 0) {
    const unsigned long long large = PyLong_AsUnsignedLongLong(number.ptr());
    if (PyErr_Occurred() == nullptr) return large;
    PyErr_Clear();
  }
  throw Error(ErrorKind::kValue, "cbor: an integer is outside [-2^63, 2^64); split it, or encode it as bytes");
}

std::string text(nb::handle object) {
  Py_ssize_t size = 0;
  const char* data = PyUnicode_AsUTF8AndSize(object.ptr(), &size);
  if (data == nullptr) throw nb::python_error();
  return std::string(data, static_cast<std::size_t>(size));
}

void check_depth(std::size_t depth) {
  if (depth >= cbor::kMaxDepth) {
    throw Error(ErrorKind::kValue,
                "cbor: more than " + std::to_string(cbor::kMaxDepth) + " lists and dicts are nested");
  }
}

cbor::Array array(nb::handle object, std::size_t depth) {
  check_depth(depth);
  cbor::Array result;
  for (const nb::handle item : object) result.push_back(convert(item, depth + 1));
  return result;
}

cbor::Map map(const nb::dict& object, std::size_t depth) {
  check_depth(depth);
  cbor::Map result;
  for (const auto& [key, value] : object) {
    if (PyUnicode_Check(key.ptr()) == 0) throw nb::type_error("cbor: the keys of a dict must be str");
    result.add(text(key), convert(value, depth + 1));
  }
  return result;
}

cbor::Value convert(nb::handle object, std::size_t depth) {
  PyObject* const o = object.ptr();
  if (object.is_none()) return nullptr;
  if (PyBool_Check(o)) return o == Py_True;
  if (PyFloat_Check(o)) return PyFloat_AsDouble(o);
  if (PyUnicode_Check(o)) return text(object);
  if (PyBytes_Check(o) || PyByteArray_Check(o) || PyMemoryView_Check(o)) return BytesView(object).span();
  if (PyList_Check(o) || PyTuple_Check(o)) return array(object, depth);
  if (PyDict_Check(o)) return map(nb::borrow<nb::dict>(object), depth);
  if (PyIndex_Check(o)) return integer(object);
  const std::string message = "cbor: cannot encode " + std::string(nb::inst_name(object).c_str()) +
                              "; use None, bool, int, float, str, bytes, list or dict";
  throw nb::type_error(message.c_str());
}

struct ToPython {
  nb::object operator()(std::nullptr_t) const { return nb::none(); }
  nb::object operator()(bool x) const { return nb::bool_(x); }
  nb::object operator()(std::uint64_t x) const { return nb::int_(x); }
  nb::object operator()(std::int64_t x) const { return nb::int_(x); }
  nb::object operator()(double x) const { return nb::float_(x); }
  nb::object operator()(const cbor::Bytes& x) const { return to_bytes(x); }
  nb::object operator()(const std::string& x) const { return nb::str(x.data(), x.size()); }
  nb::object operator()(const cbor::Array& x) const {
    nb::list list;
    for (const cbor::Value& item : x) list.append(to_python(item));
    return list;
  }
  nb::object operator()(const cbor::Map& x) const {
    nb::dict dict;
    for (const cbor::Entry& entry : x) dict[(*this)(entry.key)] = to_python(entry.value);
    return dict;
  }
};

}  // namespace

cbor::Value from_python(nb::handle object) { return convert(object, 0); }
cbor::Map map_from_python(const nb::dict& object) { return map(object, 0); }
nb::object to_python(const cbor::Value& value) { return std::visit(ToPython{}, value.storage()); }

}  // namespace lw
