// Many ciphertexts at the secret, on a device.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "rlwe/device_secrets.hpp"

namespace lw {

/// With a secret key in the memory of the device, for its owner only.
class BatchDecryptor {
 public:
  /// context: of a device. Throws lw::Error(kParameterMismatch) if the key belongs to other parameters, kOutOfMemory,
  /// kDevice.
  BatchDecryptor(const Context& context, const SecretKey& key);

  const Context& context() const noexcept { return context_; }
  const KeySetId& key_set() const noexcept { return key_set_; }

  /// Message and noise of each, one poly over `limbs`, with which all of them begin, in coefficient form. All of one
  /// degree, of the context, and of this key.
  SecretPolys phases(std::span<const Ciphertext> x, const LimbList& limbs) const;

 private:
  const Context& context_;
  const ClientKernels& client_;
  KeySetId key_set_;
  DeviceSecret secret_;
};

}  // namespace lw
