// Keys: what they are. How they are made is key_generator.hpp, how stored key_files.hpp.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rlwe/ciphertext.hpp"
#include "rlwe/sampling.hpp"

namespace lw {

/// Called now and then during long work; throws to cancel it.
using Tick = std::function<void()>;
inline void call(const Tick& tick) {
  if (tick) tick();
}

enum class KeyKind : std::uint8_t { kRelin, kGalois, kToSparse, kToDense };
/// "relin", "galois", "to_sparse", "to_dense", and back; throws lw::Error(kValue) for any other name.
const char* kind_name(KeyKind kind) noexcept;
KeyKind to_kind(std::string_view name);

/// The purpose of a key, and the highest level that it serves.
struct KeySpec {
  KeyKind kind = KeyKind::kRelin;
  std::uint64_t galois_element = 0;  // 0 for all but galois keys
  Level level;                       // its highest level; it serves those that Parameters::serves says
  bool operator==(const KeySpec&) const = default;
};

/// "galois key 5 (rotation by 1 step)", "relinearisation key", ... for messages.
std::string describe(const KeySpec& spec, std::uint32_t ring_degree);
/// Throws lw::Error(kValue) where there are no special primes, and unless the element is odd, > 1 and < 2N (or 0 for
/// all but galois keys), kLevel unless the level exists, and is level 0 of track 0 for a key to the sparse secret.
void check_spec(const KeySpec& spec, const Parameters& parameters);
/// Special limbs of a key: those of its level, but for a key to the sparse secret the first one only.
LimbList special_limbs(const KeySpec& spec, const Parameters& parameters);

/// A secret with the distribution of its parameters. Coefficients stay in wiped, locked memory; NTT forms are made on
/// demand and wiped too.
class SecretKey {
 public:
  SecretKey(SecretBuffer<std::int8_t> coefficients, KeySetId id, const Fingerprint& parameters)
      : coefficients_(std::move(coefficients)), id_(id), parameters_(parameters) {}

  std::span<const std::int8_t> coefficients() const noexcept { return coefficients_.span(); }
  const KeySetId& id() const noexcept { return id_; }
  const Fingerprint& parameters() const noexcept { return parameters_; }
  SecretPolys ntt(const Ring& ring, const LimbList& limbs) const;

 private:
  SecretBuffer<std::int8_t> coefficients_;
  KeySetId id_;
  Fingerprint parameters_;
};

/// An encryption of zero, b = -a*s + e, over the limbs below; in files of older versions over all Q limbs only.
struct PublicKey {
  KeySetId id{};
  Fingerprint parameters{};
  SeedRef seed;  // of a
  std::shared_ptr<const RnsPolys> b, a;
  bool is_unproved = false;  // made from residues: has no seed, and nothing is known of its noise
};

/// The first special limb, if any, by which encryptions are divided to leave no noise but that of rounding, and all Q.
LimbList public_key_limbs(const Parameters& parameters);

/// The part of a digit that lies in some basis.
struct DigitPart {
  std::uint32_t number;  // its place in the gadget
  LimbList limbs;
};
/// Digits of the gadget of a level's Q limbs (ascending), cut to them.
std::vector<DigitPart> digit_parts(const Parameters& parameters, std::span<const std::uint16_t> q_limbs);

/// The limbs of a key: [digit][limbs], P limbs first. The limbs of a digit are those that carry its payload.
struct KeyShape {
  LimbList limbs;
  std::vector<DigitPart> digits;

  /// The part of it that serves `q_limbs`, with all its P limbs.
  KeyShape within(std::span<const std::uint16_t> q_limbs, const Parameters& parameters) const;
  std::vector<std::uint32_t> digit_numbers() const;
};
KeyShape key_shape(const KeySpec& spec, const Parameters& parameters);

/// Switches s^2 (relin) to s, s to sigma_g^-1(s) (galois), s to the sparse secret, or that to s. Digit d:
/// b_d = -a_d*t + e_d + P*payload on the limbs of digit d, where t is the secret switched to. A key from the sparse
/// secret has one digit of all limbs: what it multiplies is small as an integer. Limbs are [digit][P limbs, then Q
/// limbs ascending].
struct EvaluationKey {
  KeySpec spec;
  KeySetId id{};
  SeedRef seed;                       // of the a halves
  std::vector<std::uint32_t> digits;  // digit number of each poly
  std::shared_ptr<const RnsPolys> b, a;
  bool is_unproved = false;  // as of PublicKey

  std::size_t num_bytes() const noexcept { return b->bytes() + a->bytes(); }
};

/// Whether a secret can be a draw from the distribution of its parameters. Without a branch on a coefficient.
bool can_be_drawn(std::span<const std::int8_t> secret, const Parameters& parameters) noexcept;

/// The keys of one secret that a server holds.
class EvaluationKeys {
 public:
  EvaluationKeys(KeySetId id, const Fingerprint& parameters) : id_(id), parameters_(parameters) {}

  void add(std::shared_ptr<const EvaluationKey> key) { keys_.push_back(std::move(key)); }
  const KeySetId& id() const noexcept { return id_; }
  const Fingerprint& parameters() const noexcept { return parameters_; }
  const std::vector<std::shared_ptr<const EvaluationKey>>& keys() const noexcept { return keys_; }
  std::size_t num_bytes() const noexcept;
  /// Whether one of them is.
  bool is_unproved() const noexcept;
  /// A key of this kind and element that serves spec.level; nullptr if there is none.
  std::shared_ptr<const EvaluationKey> find(const KeySpec& spec, const Parameters& parameters) const;

 private:
  KeySetId id_;
  Fingerprint parameters_;
  std::vector<std::shared_ptr<const EvaluationKey>> keys_;
};

/// Throws lw::Error(kParameterMismatch), naming both, unless a thing belongs to these parameters.
void check_parameters(const Fingerprint& found, const Parameters& expected, const std::string& what);
/// The same for a value with limbs, which must also be in the form of the context's backend.
void check_context(const Fingerprint& found, const RnsPolys& residues, const Context& expected,
                   const std::string& what);
/// The same for key sets; an all-zero id fits every set.
void check_key_set(const KeySetId& found, const KeySetId& expected, const std::string& what);
/// Throws lw::Error(kFormat) for a key without a seed, which files store in place of half of it.
void require_seed(bool is_unproved, const std::string& what);

}  // namespace lw
