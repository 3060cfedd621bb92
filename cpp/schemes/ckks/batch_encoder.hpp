// Encoding and decoding of many slot vectors on a device, with the bits of schemes/ckks/encoder.hpp.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "rlwe/batch_decryptor.hpp"
#include "rlwe/batch_encryptor.hpp"

namespace lw::ckks {

/// Vectors of as many numbers each, in memory of the host: float64, or complex pairs of them.
struct SlotVectors {
  std::span<const double> numbers;
  std::size_t count, slots;
  bool is_real;

  std::size_t numbers_each() const noexcept { return is_real ? slots : 2 * slots; }
};

/// With roots of the embedding on the device, for as many slots as it was last asked for. Safe to share between
/// threads.
class BatchEncoder {
 public:
  /// context: of a device. Throws lw::Error(kParameterMismatch) for BFV parameters.
  explicit BatchEncoder(const Context& context);

  /// Plaintexts, in the order of the vectors. Throws as Encoder::encode.
  std::vector<Plaintext> encode(const SlotVectors& vectors, Level level, double scale) const;
  /// The same as what a BatchEncryptor takes, which reads the vectors then.
  std::unique_ptr<const BatchMessages> messages(const SlotVectors& vectors, Level level, double scale) const;
  /// Slots of ciphertexts of one degree and as many slots, [ciphertext][slot]; real parts or complex pairs.
  std::vector<double> decrypt(const BatchDecryptor& decryptor, std::span<const Ciphertext> x, bool is_real) const;

 private:
  std::shared_ptr<const Scratch> roots_for(std::size_t slots) const;
  /// The limbs that its message is read from, which it begins with.
  LimbList limbs_of(const Ciphertext& x) const;
  void decrypt_some(const BatchDecryptor& decryptor, std::span<const Ciphertext> x, bool is_real,
                    std::span<double> out) const;

  const Context& context_;
  const ClientKernels& client_;
  mutable std::mutex mutex_;  // guards what follows
  mutable std::shared_ptr<const Scratch> roots_;
  mutable std::size_t num_roots_ = 0;
};

}  // namespace lw::ckks
