#include "rlwe/parameters.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <set>

#include "math/error.hpp"
#include "math/primes.hpp"

namespace lw {
namespace {

constexpr std::uint32_t kMinDegree = 1u << 10, kMaxDegree = 1u << 17;
constexpr std::size_t kMaxLimbs = 1024;
constexpr unsigned kMaxPrimeBits = 49, kMaxInsecurePrimeBits = 60, kMaxPlainBits = 60;

void require(bool holds, const std::string& message) {
  if (!holds) throw Error(ErrorKind::kValue, "parameters: " + message);
}

void check_primes(const ParameterFields& f) {
  require(!f.q.empty(), "needs at least one chain prime (q)");
  require(!f.p.empty() || (f.digits.empty() && f.low_p.empty() && f.gadgets.empty()),
          "without special primes (p) there are no evaluation keys, and so no digits or gadgets of them");
  require(f.q.size() + f.p.size() + f.low_p.size() <= kMaxLimbs, "more than " + std::to_string(kMaxLimbs) + " primes");
  const unsigned max_bits = f.insecure ? kMaxInsecurePrimeBits : kMaxPrimeBits;
  std::set<std::uint64_t> seen;
  for (const auto* list : {&f.q, &f.p, &f.low_p}) {
    for (const std::uint64_t prime : *list) {
      const std::string name = std::to_string(prime);
      require(std::bit_width(prime) <= max_bits, "prime " + name + " has more than " + std::to_string(max_bits) +
                                                     " bits; split the level over two primes");
      require(prime % (2ull * f.ring_degree) == 1, "prime " + name + " is not 1 modulo 2N");
      require(is_prime(prime), name + " is not a prime");
      require(seen.insert(prime).second, "prime " + name + " appears twice");
    }
  }
}

void check_digits(const std::vector<LimbList>& digits, std::size_t limbs, const std::string& name) {
  std::size_t next = 0;
  for (const LimbList& digit : digits) {
    require(!digit.empty(), name + " holds an empty digit");
    for (const std::uint16_t limb : digit) {
      require(limb == next, name + " must list the Q limbs 0.." + std::to_string(limbs - 1) +
                                " once, in order; found " + std::to_string(limb) + " where " + std::to_string(next) +
                                " belongs");
      ++next;
    }
  }
  require(next == limbs, name + " cover " + std::to_string(next) + " of " + std::to_string(limbs) + " Q limbs");
}

/// Keys of lower levels are cut into digits that their special primes exceed.
void check_gadgets(const ParameterFields& f) {
  std::vector<std::uint64_t> special = f.p;
  special.insert(special.end(), f.low_p.begin(), f.low_p.end());
  std::size_t above = f.q.size(), used = f.p.size();
  for (const Gadget& gadget : f.gadgets) {
    const std::string name = "the gadget of " + std::to_string(gadget.limbs) + " limbs";
    require(gadget.limbs >= 1 && gadget.limbs < above,
            name + " follows one of " + std::to_string(above) + "; each serves fewer Q limbs, 1 or more");
    require(
        gadget.num_special >= 1 && gadget.num_special <= special.size(),
        name + " has " + std::to_string(gadget.num_special) + " special primes of " + std::to_string(special.size()));
    check_digits(gadget.digits, gadget.limbs, "the digits of " + name);
    double p_bits = 0;
    for (std::size_t i = 0; i < gadget.num_special; ++i) p_bits += std::log2(static_cast<double>(special[i]));
    for (const LimbList& digit : gadget.digits) {
      double bits = 0;
      for (const std::uint16_t limb : digit) bits += std::log2(static_cast<double>(f.q[limb]));
      require(bits < p_bits, name + " has a digit of " + std::to_string(bits) +
                                 " bits, more than its special primes (" + std::to_string(p_bits) + ")");
    }
    above = gadget.limbs;
    used = std::max(used, gadget.num_special);
  }
  require(used == special.size(), "low_p has special primes that no gadget uses");
}

void check_track(const ParameterFields& f, const Track& track, const std::string& name) {
  require(!track.groups.empty(), name + " has no level");
  require(track.groups.size() == track.scales.size(), name + " has " + std::to_string(track.groups.size()) +
                                                          " groups but " + std::to_string(track.scales.size()) +
                                                          " scales");
  std::int64_t last = -1;
  for (const LimbList& group : track.groups) {
    require(group.size() == 1 || group.size() == 2,
            name + ": a group has " + std::to_string(group.size()) + " limbs; 1 or 2 are allowed");
    for (const std::uint16_t limb : group) {
      require(limb < f.q.size(), name + ": there is no Q limb " + std::to_string(limb));
      require(limb > last, name + ": limb " + std::to_string(limb) + " follows " + std::to_string(last) +
                               "; limb numbers must ascend");
      last = limb;
    }
  }
  for (const double scale : track.scales) {
    require(std::isfinite(scale) && scale >= 1.0 && scale <= 0x1p120, name + ": scales must lie in [1, 2^120]");
    require(f.plain_modulus == 0 || scale == 1.0, name + ": the scales of BFV parameters are 1");
  }
}

void check_plain_modulus(const ParameterFields& f) {
  const std::uint64_t t = f.plain_modulus;
  if (t == 0) return;
  const std::string name = "plain_modulus " + std::to_string(t);
  require(t > 1 && std::bit_width(t - 1) <= kMaxPlainBits, name + " is not between 2 and 2^60");
  for (const auto* list : {&f.q, &f.p, &f.low_p}) {
    for (const std::uint64_t prime : *list) {
      require(t % prime != 0, name + " and the ciphertext modulus share the prime " + std::to_string(prime));
    }
  }
}

void check(const ParameterFields& f) {
  require(std::has_single_bit(f.ring_degree) && f.ring_degree >= kMinDegree && f.ring_degree <= kMaxDegree,
          "ring_degree " + std::to_string(f.ring_degree) + " is not a power of two in [2^10, 2^17]");
  check_primes(f);
  check_plain_modulus(f);
  if (!f.p.empty()) check_digits(f.digits, f.q.size(), "digits");
  check_gadgets(f);
  require(!f.tracks.empty() && f.tracks.size() <= kMaxLimbs, "needs 1 to " + std::to_string(kMaxLimbs) + " tracks");
  for (std::size_t i = 0; i < f.tracks.size(); ++i) check_track(f, f.tracks[i], "track " + std::to_string(i));
  require(f.secret == "ternary" || f.secret == "gaussian", "secret must be \"ternary\" or \"gaussian\"");
  require(f.secret_weight <= f.ring_degree && (f.secret_weight == 0 || f.secret == "ternary"),
          "secret_weight " + std::to_string(f.secret_weight) + " is for ternary secrets, and at most the ring degree");
  require(f.security_bits == 128 || f.security_bits == 192 || f.security_bits == 256,
          "security_bits must be 128, 192 or 256");
}

LimbList number_from(std::size_t first, std::size_t count) {
  LimbList limbs(count);
  for (std::size_t i = 0; i < count; ++i) limbs[i] = static_cast<std::uint16_t>(first + i);
  return limbs;
}

}  // namespace

std::string to_string(Level level) {
  return "level " + std::to_string(level.index) + " of track " + std::to_string(level.track);
}

std::string short_hex(std::span<const std::uint8_t> bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t byte : bytes.first(std::min<std::size_t>(bytes.size(), 8))) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

Parameters::Parameters(ParameterFields fields) : fields_(std::move(fields)) {
  check(fields_);
  primes_ = fields_.q;
  primes_.insert(primes_.end(), fields_.p.begin(), fields_.p.end());
  primes_.insert(primes_.end(), fields_.low_p.begin(), fields_.low_p.end());
  gadgets_.push_back({num_q(), num_p(), fields_.digits});
  gadgets_.insert(gadgets_.end(), fields_.gadgets.begin(), fields_.gadgets.end());
  if (is_bfv()) add_auxiliary_primes();
  fingerprint_ = blake3(to_cbor());
}

Parameters Parameters::with_plain_modulus(std::uint64_t t) const {
  require(is_bfv() && t != 0, "with_plain_modulus: CKKS parameters have no plaintext modulus");
  ParameterFields fields = fields_;
  fields.plain_modulus = t;
  Parameters made(std::move(fields));
  made.fingerprint_ = fingerprint_;
  return made;
}

void Parameters::add_auxiliary_primes() {
  const std::uint64_t two_n = 2ull * fields_.ring_degree, t = fields_.plain_modulus;
  has_batching_ = std::bit_width(t) <= kMaxPrimeBits && t % two_n == 1 && is_prime(t);
  if (has_batching_) primes_.push_back(t);
  const double wanted = log2_product(all_q()) - 1;
  double bits = 0;
  for (std::uint64_t candidate = (1ull << kMaxPrimeBits) + 1 - two_n; bits < wanted; candidate -= two_n) {
    if (!is_prime(candidate) || std::count(primes_.begin(), primes_.end(), candidate) != 0) continue;
    primes_.push_back(candidate);
    bits += std::log2(static_cast<double>(candidate));
  }
}

LimbList Parameters::extension(Level level) const {
  const double wanted = log2_product(basis(level)) - 1;
  LimbList limbs;
  for (double bits = 0; bits < wanted; bits += std::log2(static_cast<double>(prime(limbs.back())))) {
    limbs.push_back(static_cast<std::uint16_t>(plain_limb() + has_batching_ + limbs.size()));
  }
  return limbs;
}

std::uint8_t Parameters::width(std::size_t limb) const noexcept {
  return static_cast<std::uint8_t>(std::bit_width(prime(limb) - 1));
}

double Parameters::log2_product(std::span<const std::uint16_t> limbs) const noexcept {
  double bits = 0;
  for (const std::uint16_t limb : limbs) bits += std::log2(static_cast<double>(prime(limb)));
  return bits;
}

bool Parameters::has_level(Level level) const noexcept {
  return level.track < fields_.tracks.size() && level.index < fields_.tracks[level.track].groups.size();
}

void Parameters::require_level(Level level) const {
  if (!has_level(level)) throw Error(ErrorKind::kLevel, "these parameters have no " + to_string(level));
}

LimbList Parameters::basis(Level level) const {
  const std::vector<LimbList>& groups = fields_.tracks[level.track].groups;
  LimbList limbs;
  for (std::uint32_t i = 0; i <= level.index; ++i) limbs.insert(limbs.end(), groups[i].begin(), groups[i].end());
  return limbs;
}

LimbList Parameters::dropped(Level high, Level low) const {
  const std::vector<LimbList>& groups = fields_.tracks[high.track].groups;
  LimbList limbs;
  for (std::uint32_t i = low.index + 1; i <= high.index; ++i) {
    limbs.insert(limbs.end(), groups[i].begin(), groups[i].end());
  }
  return limbs;
}

LimbList Parameters::all_q() const { return number_from(0, num_q()); }

const Gadget& Parameters::gadget(std::span<const std::uint16_t> q_limbs) const noexcept {
  const std::size_t needed = q_limbs.empty() ? 0 : q_limbs.back() + std::size_t{1};
  std::size_t last = 0;
  while (last + 1 < gadgets_.size() && gadgets_[last + 1].limbs >= needed) ++last;
  return gadgets_[last];
}

LimbList Parameters::special(std::span<const std::uint16_t> q_limbs) const {
  return number_from(num_q(), gadget(q_limbs).num_special);
}

bool Parameters::serves(Level held, Level wanted) const {
  const LimbList limbs = basis(held), within = basis(wanted);
  return std::includes(limbs.begin(), limbs.end(), within.begin(), within.end()) && &gadget(limbs) == &gadget(within);
}

std::vector<std::uint32_t> Parameters::digits_above_p() const {
  const double p_bits = log2_product(number_from(num_q(), num_p()));
  std::vector<std::uint32_t> above;
  for (std::uint32_t d = 0; d < fields_.digits.size(); ++d) {
    if (log2_product(fields_.digits[d]) > p_bits) above.push_back(d);
  }
  return above;
}

}  // namespace lw
