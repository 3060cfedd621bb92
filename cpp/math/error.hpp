// The one exception type of the core. The bindings turn each kind into the
// Python class of the same meaning in latticework.errors.
#pragma once

#include <stdexcept>
#include <string>

namespace lw {

enum class ErrorKind {
  kValue,              // ValueError: a caller's mistake inside the library
  kShape,              // ShapeError
  kRange,              // RangeError
  kLevel,              // LevelError
  kScale,              // ScaleError
  kSecurity,           // SecurityError
  kMissingKey,         // MissingKeyError
  kParameterMismatch,  // ParameterMismatchError
  kSecretKey,          // SecretKeyError
  kDecryption,         // DecryptionError
  kFormat,             // FormatError
  kIo,                 // OSError
  kOutOfMemory,        // MemoryError
  kDevice,             // DeviceError
  kCancelled,          // KeyboardInterrupt
};

class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
  ErrorKind kind() const noexcept { return kind_; }

 private:
  ErrorKind kind_;
};

}  // namespace lw
