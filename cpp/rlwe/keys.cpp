#include "rlwe/keys.hpp"

#include <algorithm>
#include <array>

#include "math/error.hpp"

namespace lw {
namespace {

constexpr std::array<const char*, 4> kKindNames = {"relin", "galois", "to_sparse", "to_dense"};

/// Signed left rotation k with 5^k = g mod 2N, or 0 if g is no rotation.
std::int64_t rotation_steps(std::uint64_t galois_element, std::uint32_t ring_degree) {
  const std::int64_t slots = ring_degree / 2;
  std::uint64_t power = 1;
  for (std::int64_t k = 0; k < slots; ++k, power = power * 5 % (2ull * ring_degree)) {
    if (power == galois_element) return k > slots / 2 ? k - slots : k;
  }
  return 0;
}

}  // namespace

const char* kind_name(KeyKind kind) noexcept { return kKindNames[static_cast<std::size_t>(kind)]; }

KeyKind to_kind(std::string_view name) {
  for (std::size_t i = 0; i < kKindNames.size(); ++i) {
    if (name == kKindNames[i]) return static_cast<KeyKind>(i);
  }
  throw Error(ErrorKind::kValue, "key kind must be \"relin\", \"galois\", \"to_sparse\" or \"to_dense\", got \"" +
                                     std::string(name) + "\"");
}

std::string describe(const KeySpec& spec, std::uint32_t ring_degree) {
  if (spec.kind == KeyKind::kRelin) return "relinearisation key";
  if (spec.kind == KeyKind::kToSparse) return "key to the sparse secret";
  if (spec.kind == KeyKind::kToDense) return "key from the sparse secret";
  const std::string name = "galois key " + std::to_string(spec.galois_element);
  if (spec.galois_element == 2ull * ring_degree - 1) return name + " (conjugation)";
  const std::int64_t steps = rotation_steps(spec.galois_element, ring_degree);
  return steps == 0 ? name : name + " (rotation by " + std::to_string(steps) + " steps)";
}

void check_spec(const KeySpec& spec, const Parameters& parameters) {
  if (parameters.num_p() == 0) {
    throw Error(ErrorKind::kValue, "key: these parameters have no special primes, and so no evaluation keys");
  }
  const std::uint64_t g = spec.galois_element;
  const bool is_legal =
      spec.kind != KeyKind::kGalois ? g == 0 : g % 2 == 1 && g > 1 && g < 2ull * parameters.ring_degree();
  if (!is_legal) {
    throw Error(ErrorKind::kValue, "key: galois element " + std::to_string(g) +
                                       " must be odd and in (1, 2N), or 0 for a key of another kind");
  }
  parameters.require_level(spec.level);
  if (spec.kind == KeyKind::kToSparse && spec.level != Level{}) {
    throw Error(ErrorKind::kLevel, "the key to the sparse secret is for level 0 of track 0 only, not for " +
                                       to_string(spec.level) + ": a larger modulus would not be secure");
  }
}

LimbList special_limbs(const KeySpec& spec, const Parameters& parameters) {
  LimbList limbs = parameters.special(parameters.basis(spec.level));
  if (spec.kind == KeyKind::kToSparse) limbs.resize(1);
  return limbs;
}

LimbList public_key_limbs(const Parameters& parameters) {
  LimbList limbs = parameters.all_q();
  if (parameters.num_p() != 0) limbs.insert(limbs.begin(), static_cast<std::uint16_t>(parameters.num_q()));
  return limbs;
}

SecretPolys SecretKey::ntt(const Ring& ring, const LimbList& limbs) const {
  SecretBuffer<std::int64_t> wide(coefficients_.size());
  std::copy(coefficients_.begin(), coefficients_.end(), wide.begin());
  return to_ntt(ring, wide.span(), limbs);
}

bool can_be_drawn(std::span<const std::int8_t> secret, const Parameters& parameters) noexcept {
  const std::uint32_t bound = parameters.has_gaussian_secret() ? kErrorBound : 1;
  std::uint32_t above = 0, weight = 0;
  for (const std::int8_t x : secret) {
    const std::uint32_t magnitude = static_cast<std::uint32_t>(x < 0 ? -x : x);
    above |= (bound - magnitude) >> 31;
    weight += magnitude;
  }
  const std::uint32_t wanted = parameters.fields().secret_weight;
  return above == 0 && (wanted == 0 || weight == wanted);
}

std::vector<DigitPart> digit_parts(const Parameters& parameters, std::span<const std::uint16_t> q_limbs) {
  std::vector<DigitPart> parts;
  const std::vector<LimbList>& digits = parameters.gadget(q_limbs).digits;
  for (std::uint32_t d = 0; d < digits.size(); ++d) {
    LimbList common;
    std::set_intersection(digits[d].begin(), digits[d].end(), q_limbs.begin(), q_limbs.end(),
                          std::back_inserter(common));
    if (!common.empty()) parts.push_back({d, std::move(common)});
  }
  return parts;
}

KeyShape KeyShape::within(std::span<const std::uint16_t> q_limbs, const Parameters& parameters) const {
  KeyShape part;
  for (const std::uint16_t limb : limbs) {
    if (limb >= parameters.num_q()) part.limbs.push_back(limb);
  }
  part.limbs.insert(part.limbs.end(), q_limbs.begin(), q_limbs.end());
  for (const DigitPart& digit : digits) {
    LimbList common;
    std::set_intersection(digit.limbs.begin(), digit.limbs.end(), q_limbs.begin(), q_limbs.end(),
                          std::back_inserter(common));
    if (!common.empty()) part.digits.push_back({digit.number, std::move(common)});
  }
  return part;
}

std::vector<std::uint32_t> KeyShape::digit_numbers() const {
  std::vector<std::uint32_t> numbers;
  for (const DigitPart& digit : digits) numbers.push_back(digit.number);
  return numbers;
}

KeyShape key_shape(const KeySpec& spec, const Parameters& parameters) {
  KeyShape shape{special_limbs(spec, parameters), {}};
  const LimbList q = parameters.basis(spec.level);
  shape.limbs.insert(shape.limbs.end(), q.begin(), q.end());
  if (spec.kind == KeyKind::kToDense) {
    shape.digits.push_back({0, q});
  } else {
    shape.digits = digit_parts(parameters, q);
  }
  return shape;
}

std::size_t EvaluationKeys::num_bytes() const noexcept {
  std::size_t bytes = 0;
  for (const auto& key : keys_) bytes += key->num_bytes();
  return bytes;
}

bool EvaluationKeys::is_unproved() const noexcept {
  return std::ranges::any_of(keys_, [](const auto& key) { return key->is_unproved; });
}

std::shared_ptr<const EvaluationKey> EvaluationKeys::find(const KeySpec& spec, const Parameters& parameters) const {
  for (const auto& key : keys_) {
    if (key->spec.kind != spec.kind || key->spec.galois_element != spec.galois_element) continue;
    if (parameters.serves(key->spec.level, spec.level)) return key;
  }
  return nullptr;
}

void check_parameters(const Fingerprint& found, const Parameters& expected, const std::string& what) {
  if (found == expected.fingerprint()) return;
  throw Error(ErrorKind::kParameterMismatch,
              what + " belongs to parameters " + short_hex(found) + "; these are parameters " +
                  short_hex(expected.fingerprint()) +
                  ": use keys and data of these parameters (of a compiled program: its own plan, keys and data)");
}

void check_context(const Fingerprint& found, const RnsPolys& residues, const Context& expected,
                   const std::string& what) {
  check_parameters(found, expected.parameters(), what);
  const ResidueForm held = residues.form(), wanted = expected.ring().backend().form();
  if (held == wanted) return;
  residues.check();
  const auto text = [](const ResidueForm& form) {
    return std::string(form.words).append(" on the ").append(form.device);
  };
  const bool is_same_place = held.words == wanted.words && held.device == wanted.device;
  throw Error(ErrorKind::kParameterMismatch,
              what + " is held as " + text(held) + (is_same_place ? " before it failed, or with other options" : "") +
                  "; the backend \"" + std::string(expected.ring().backend().name()) + "\" takes " + text(wanted) +
                  ": save it, and load it where it is used");
}

void require_seed(bool is_unproved, const std::string& what) {
  if (!is_unproved) return;
  throw Error(ErrorKind::kFormat, what +
                                      " was made from residues and has no seed, which a file stores in place of half "
                                      "of a key; keep the residues themselves, by numpy.save");
}

void check_key_set(const KeySetId& found, const KeySetId& expected, const std::string& what) {
  if (found == expected || found == KeySetId{} || expected == KeySetId{}) return;
  throw Error(ErrorKind::kParameterMismatch, what + " belongs to key set " + short_hex(found) +
                                                 "; the key set in use is " + short_hex(expected) +
                                                 ": values and keys of different secret keys do not mix");
}

}  // namespace lw
