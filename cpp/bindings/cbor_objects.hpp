// CBOR values as Python objects: None, bool, int, float, bytes, str, list and dict.
#pragma once

#include <nanobind/nanobind.h>

#include "io/cbor.hpp"

namespace lw {

/// Converts a Python object to a CBOR value: also bytearray, memoryview, tuple, and integers by __index__. Raises
/// TypeError for other types, lw::Error(kValue) for integers out of range and too deep nesting.
cbor::Value from_python(nanobind::handle object);
/// Converts a dict with text keys to a CBOR map.
cbor::Map map_from_python(const nanobind::dict& object);
nanobind::object to_python(const cbor::Value& value);

}  // namespace lw
