// The public description of an RLWE instance: ring, primes, digits, levels.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "io/cbor.hpp"
#include "math/blake3.hpp"
#include "ring/ring.hpp"

namespace lw {

using Fingerprint = Hash;

/// A place on a track of the modulus chain; index 0 is the last level.
struct Level {
  std::uint32_t track = 0;
  std::uint32_t index = 0;
  bool operator==(const Level&) const = default;
};
std::string to_string(Level level);

/// One way down the chain. groups[i]: limb numbers removed when level i is rescaled (0 = q0);
/// scales[i]: canonical scale of level i. Limb numbers ascend over the whole track, so that a
/// lower level is a prefix of a higher one.
struct Track {
  std::vector<LimbList> groups;
  std::vector<double> scales;
  bool operator==(const Track&) const = default;
};

/// How keys are cut that serve levels within the first `limbs` Q limbs. A lower level leaves more of the modulus that
/// is secure to special primes; its digits may then be larger, and are fewer.
struct Gadget {
  std::size_t limbs = 0;
  std::size_t num_special = 0;   // the first so many special limbs
  std::vector<LimbList> digits;  // consecutive, ascending partition of the Q limbs 0 .. limbs - 1
  bool operator==(const Gadget&) const = default;
};

/// The fields, unchecked. Parameters is the checked form.
struct ParameterFields {
  std::uint32_t ring_degree = 0;
  std::vector<std::uint64_t> q;  // chain primes; a limb's number is its place here
  std::vector<std::uint64_t> p;  // special primes of the highest levels, limb numbers q.size() and up; none: no keys
  std::vector<LimbList> digits;  // consecutive, ascending partition of the Q limbs; none without p
  std::vector<Track> tracks;
  std::string secret = "ternary";  // or "gaussian": distributed as errors are
  std::uint32_t security_bits = 128;
  bool insecure = false;
  std::uint64_t plain_modulus = 0;   // t of BFV, below 2^60 and without a factor of q or p; 0: CKKS
  std::uint32_t secret_weight = 0;   // of a ternary secret with exactly so many coefficients of -1 or 1; 0: uniform
  std::vector<std::uint64_t> low_p;  // special primes that follow p and that only gadgets of lower levels use
  std::vector<Gadget> gadgets;       // of lower levels, by descending limbs; p and digits are that of all others
  bool operator==(const ParameterFields&) const = default;
};

/// Immutable once made. Two parameter sets are the same iff their fingerprints are.
class Parameters {
 public:
  /// Throws lw::Error(kValue) naming the first field that breaks a rule.
  explicit Parameters(ParameterFields fields);
  /// The inverse of to_cbor; throws lw::Error(kFormat) for any other bytes or fields that break a rule.
  static Parameters from_cbor(std::span<const std::uint8_t> bytes);

  /// BFV only: the same with another plaintext modulus, under the fingerprint of these. Secret keys, evaluation keys
  /// and ciphertexts are residues that know nothing of t, so they are of both: which t a ciphertext is of, is its place
  /// in a program that has several. Throws lw::Error(kValue) for a t that these primes cannot have.
  Parameters with_plain_modulus(std::uint64_t t) const;

  std::vector<std::uint8_t> to_cbor() const;
  /// BLAKE3 of to_cbor(), or of that of the parameters that these were made of by `with_plain_modulus`.
  const Fingerprint& fingerprint() const noexcept { return fingerprint_; }

  const ParameterFields& fields() const noexcept { return fields_; }
  std::uint32_t ring_degree() const noexcept { return fields_.ring_degree; }
  std::size_t num_q() const noexcept { return fields_.q.size(); }
  std::size_t num_p() const noexcept { return fields_.p.size(); }
  bool insecure() const noexcept { return fields_.insecure; }
  bool has_gaussian_secret() const noexcept { return fields_.secret == "gaussian"; }
  bool is_bfv() const noexcept { return fields_.plain_modulus != 0; }
  /// Prime of a limb number.
  std::uint64_t prime(std::size_t limb) const noexcept { return primes_[limb]; }
  /// All, by limb number: Q, P, and for BFV the plaintext modulus and the primes of its extension basis.
  const std::vector<std::uint64_t>& primes() const noexcept { return primes_; }
  /// Bits of a residue modulo a limb, as stored.
  std::uint8_t width(std::size_t limb) const noexcept;
  /// log2 of the product of some limbs.
  double log2_product(std::span<const std::uint16_t> limbs) const noexcept;

  bool has_level(Level level) const noexcept;
  /// Throws lw::Error(kLevel) if there is no such level.
  void require_level(Level level) const;
  double scale(Level level) const noexcept { return fields_.tracks[level.track].scales[level.index]; }
  /// Q limbs of a level, ascending.
  LimbList basis(Level level) const;
  /// Limbs of levels above `low`, up to `high` of the same track: what a mod_down from high to low removes.
  LimbList dropped(Level high, Level low) const;
  LimbList all_q() const;

  /// The gadget of a level's keys, the last one that holds its limbs: a function of the level's highest limb alone, so
  /// that every key and every value over QP at a level has the same special limbs.
  const Gadget& gadget(std::span<const std::uint16_t> q_limbs) const noexcept;
  /// Special limbs of values over QP and keys at a level with these Q limbs.
  LimbList special(std::span<const std::uint16_t> q_limbs) const;
  /// Whether a key that holds the limbs of one level serves another: its limbs lie within, and it is cut alike.
  bool serves(Level held, Level wanted) const;

  /// Whether t splits into slots, and is a limb: a prime = 1 mod 2N of at most 49 bits. Else there are coefficients
  /// only.
  bool has_batching() const noexcept { return has_batching_; }
  /// BFV with batching only. The limb of the plaintext modulus.
  std::uint16_t plain_limb() const noexcept {
    return static_cast<std::uint16_t>(num_q() + num_p() + fields_.low_p.size());
  }
  /// BFV only. Limbs of the basis B that products at a level are computed in besides Q: B >= Q / 2. Its primes are the
  /// largest ones below 2^49 that are 1 mod 2N and not used otherwise, descending; a level takes the first few.
  LimbList extension(Level level) const;

  /// Digits whose product exceeds that of P: legal, but key switching then adds noise of their quotient.
  std::vector<std::uint32_t> digits_above_p() const;

 private:
  void add_auxiliary_primes();

  ParameterFields fields_;
  std::vector<Gadget> gadgets_;  // that of all Q limbs, and those of lower levels
  std::vector<std::uint64_t> primes_;
  bool has_batching_ = false;
  Fingerprint fingerprint_;
};

/// First 8 bytes of a fingerprint in hex, for messages.
std::string short_hex(std::span<const std::uint8_t> bytes);

}  // namespace lw
