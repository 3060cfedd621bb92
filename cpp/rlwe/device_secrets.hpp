// Secrets in the memory of a device, where their owner asked for that: overwritten with zeros before it is given back.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>

#include "backend/client_kernels.hpp"
#include "rlwe/keys.hpp"

namespace lw {

/// The context's kernels for a client's work. Throws lw::Error(kValue) where it has none.
const ClientKernels& client_kernels(const Context& context);

/// Words for any use, on a device.
class SecretWords {
 public:
  SecretWords(const Ring& ring, std::size_t words);

  /// The word at an offset, for calls on the running queue.
  Word* at(std::size_t offset) noexcept { return polys_->view().base + offset; }

 private:
  SecretPolys polys_;
};

/// Minus a secret key. Its coefficients are uploaded once, and NTT forms are made there when they are first needed.
/// Safe to share between threads.
class DeviceSecret {
 public:
  /// Throws lw::Error(kOutOfMemory), kDevice.
  DeviceSecret(const Context& context, const SecretKey& key);

  /// One poly over these limbs.
  const RnsPolys& ntt(const LimbList& limbs) const;

 private:
  const Ring& ring_;
  mutable SecretWords coefficients_;
  mutable std::mutex mutex_;  // guards forms_
  mutable std::map<LimbList, SecretPolys> forms_;
};

/// Messages that are worked on at a time: as many as take up to 64 MiB, of so many words each. What is made of them
/// lies in one piece of memory, which stays as long as one of it.
std::size_t messages_at_once(std::size_t words_each) noexcept;

}  // namespace lw
