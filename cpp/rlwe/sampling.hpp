// The secret distributions, drawn without a branch on what is drawn.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "math/blake3.hpp"
#include "math/entropy.hpp"
#include "ring/ring.hpp"
#include "ring/uniform.hpp"
#include "rlwe/parameters.hpp"

namespace lw {

/// Where seeds come from: the operating system; or, INSECURE, one seed of tests, so that the same calls in the same
/// order give the same bytes. Copies of one draw from one sequence.
class SeedSource {
 public:
  SeedSource() = default;
  /// `who` gets them. Throws lw::Error(kSecurity) unless the parameters are marked insecure.
  SeedSource(const Hash& insecure_seed, const Parameters& parameters, std::string_view who);

  bool is_seeded() const noexcept { return insecure_ != nullptr; }
  /// 32 bytes that no other call gives.
  Hash draw() const;

 private:
  struct Sequence {
    Hash seed;
    std::atomic<std::uint64_t> count;
  };
  std::shared_ptr<Sequence> insecure_;
};

/// A seed for private randomness, 32 bytes of a source, wiped when it goes; no public stream has it.
class PrivateSeed {
 public:
  explicit PrivateSeed(const SeedSource& source);
  explicit PrivateSeed(std::span<const std::uint8_t, 32> bytes);  // for tests with known answers
  std::span<const std::uint8_t, 32> bytes() const noexcept {
    return std::span<const std::uint8_t, 32>(bytes_.data(), 32);
  }

 private:
  SecretBuffer<std::uint8_t> bytes_;
};

/// Uniform on {-1, 0, 1} (to within 2^-62): floor(3 * word / 2^64) - 1 for each word of the stream.
/// domain: kSecretKey or kEncryptionMask.
SecretBuffer<std::int64_t> sample_ternary(std::size_t size, const PrivateSeed& seed, StreamDomain domain);

/// `weight` coefficients of -1 or 1 at uniform places, all others 0. Every draw visits all places.
SecretBuffer<std::int64_t> sample_sparse(std::size_t size, std::size_t weight, const PrivateSeed& seed);

inline constexpr std::uint32_t kErrorBound = 21;

/// Centred binomial with 21 pairs (sigma = sqrt(10.5) = 3.24); `digit` tells apart errors of one seed.
SecretBuffer<std::int64_t> sample_error(std::size_t size, const PrivateSeed& seed, std::uint32_t digit);

/// Limbs that hold a secret: overwritten with zeros before their memory is given back. Move only.
class SecretPolys {
 public:
  SecretPolys(const Ring& ring, LimbList limbs, std::uint32_t polys)
      : ring_(&ring), residues_(ring, std::move(limbs), polys) {}
  SecretPolys(SecretPolys&&) = default;
  SecretPolys& operator=(SecretPolys&&) = delete;
  ~SecretPolys();

  RnsPolys& operator*() noexcept { return residues_; }
  const RnsPolys& operator*() const noexcept { return residues_; }
  RnsPolys* operator->() noexcept { return &residues_; }
  const RnsPolys* operator->() const noexcept { return &residues_; }

 private:
  const Ring* ring_;
  RnsPolys residues_;
};

/// A polynomial with small signed coefficients, in NTT form over `limbs`.
SecretPolys to_ntt(const Ring& ring, std::span<const std::int64_t> coefficients, const LimbList& limbs);

}  // namespace lw
