// Bytes and paths as they come from Python.
#pragma once

#include <nanobind/nanobind.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>

#include "math/blake3.hpp"
#include "math/error.hpp"

namespace lw {

/// The bytes of a contiguous object that has the buffer protocol, held while this lives. Create and destroy
/// with the GIL; the bytes may be read without it. Move only.
class BytesView {
 public:
  explicit BytesView(nanobind::handle object) {
    if (PyObject_GetBuffer(object.ptr(), &buffer_, PyBUF_SIMPLE) != 0) throw nanobind::python_error();
  }
  BytesView(BytesView&& other) noexcept : buffer_(other.buffer_) { other.buffer_.obj = nullptr; }
  BytesView& operator=(BytesView&&) = delete;
  ~BytesView() { PyBuffer_Release(&buffer_); }

  std::span<const std::uint8_t> span() const noexcept {
    return {static_cast<const std::uint8_t*>(buffer_.buf), static_cast<std::size_t>(buffer_.len)};
  }

 private:
  Py_buffer buffer_;
};

/// 32 bytes, such as a key, a seed or a fingerprint. Throws lw::Error(kValue) naming `what`.
inline Hash bytes32(nanobind::handle object, const char* what) {
  const BytesView view(object);
  Hash out;
  if (view.span().size() != out.size()) {
    throw Error(ErrorKind::kValue,
                std::string(what) + ": expected 32 bytes, got " + std::to_string(view.span().size()));
  }
  std::copy(view.span().begin(), view.span().end(), out.begin());
  return out;
}

inline nanobind::bytes to_bytes(std::span<const std::uint8_t> bytes) {
  return nanobind::bytes(bytes.data(), bytes.size());
}

/// str, bytes or os.PathLike, in the encoding of the file system.
inline std::string to_path(nanobind::handle object) {
  PyObject* encoded = nullptr;
  if (PyUnicode_FSConverter(object.ptr(), &encoded) == 0) throw nanobind::python_error();
  const nanobind::bytes path = nanobind::steal<nanobind::bytes>(encoded);
  return std::string(path.c_str(), path.size());
}

}  // namespace lw
