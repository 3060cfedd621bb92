// Values under encryption. All are immutable handles: copying one copies no
// limbs, and the limbs live as long as the last handle.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>

#include "ring/integers.hpp"
#include "rlwe/context.hpp"

namespace lw {

/// Random name of a secret key; carried by everything made with it. All zero: made without any key.
using KeySetId = std::array<std::uint8_t, 16>;

/// The public seed that a uniform polynomial was expanded from, and its object number in the stream.
struct SeedRef {
  Hash seed{};
  std::uint64_t object = 0;
};

/// The secret that decrypts: that of the secret key, or inside bootstrapping the ephemeral sparse one.
enum class SecretKind : std::uint8_t { kMain = 0, kSparse = 1 };

/// What the numbers of a value are: slots, which rotate and multiply one by one, or the coefficients of its polynomial.
enum class Encoding : std::uint8_t { kSlots = 0, kCoefficients = 1 };

/// Of ciphertexts: products are left so high where no key is to be had.
constexpr std::uint32_t kMaxCiphertextDegree = 4;

/// degree + 1 polynomials in NTT form; c_i goes with the i-th power of the secret.
struct Ciphertext {
  std::shared_ptr<const RnsPolys> residues;
  Level level;
  Basis basis = Basis::kQ;
  double scale = 1.0;
  std::uint32_t slots = 1;
  KeySetId key_set{};
  Fingerprint parameters{};
  std::optional<SeedRef> seed;  // of c1, for a fresh symmetric encryption
  SecretKind secret = SecretKind::kMain;
  Encoding encoding = Encoding::kSlots;
  bool is_unproved = false;  // something it is made from came as residues: nothing is known of its noise

  std::uint32_t degree() const noexcept { return residues->polys() - 1; }
  std::size_t num_bytes() const noexcept { return residues->bytes(); }
};

/// One polynomial in NTT form; or its coefficients, which sums of products transform limb by limb. Those are on a host,
/// and nothing but `Evaluator::diag_sums` takes them.
struct Plaintext {
  std::shared_ptr<const RnsPolys> residues;  // null where there are coefficients
  Level level;
  Basis basis = Basis::kQ;
  double scale = 1.0;
  std::uint32_t slots = 1;
  Fingerprint parameters{};
  Encoding encoding = Encoding::kSlots;
  bool is_unproved = false;
  std::shared_ptr<const Integers> coefficients = nullptr;

  std::size_t num_bytes() const noexcept { return residues ? residues->bytes() : coefficients->num_bytes(); }
};

/// A ciphertext over Q whose last polynomial is also held as digits extended to QP:
/// [digit][P limbs, then Q limbs ascending], NTT form. What rotations of one value share.
struct Digits {
  Ciphertext source;
  std::shared_ptr<const RnsPolys> extended;  // null: extended where they are used
};

}  // namespace lw
