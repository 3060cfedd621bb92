// CBOR values as Python objects: None, bool, int, float, bytes, str, list and dict.
#pragma once

#include <nanobind/nanobind.h>

#include "io/cbor.hpp"

namespace lw {

/// Also takes bytearray, memoryview, tuple, and integers by __index__. Raises TypeError for other types,
/// lw::Error(kValue) for integers out of range and too deep nesting.
cbor::Value from_python(nanobind::handle object);
/// Of a dict with text keys.
cbor::Map map_from_python(const nanobind::dict& object);
nanobind::object to_python(const cbor::Value& value);

}  // namespace lw
