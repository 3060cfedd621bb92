#include "rlwe/sampling.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "math/chacha20.hpp"
#include "math/error.hpp"

namespace lw {
namespace {

/// The first `size` 64-bit words of a private stream, little endian; laid out as in the public streams.
SecretBuffer<std::uint64_t> private_words(std::size_t size, const PrivateSeed& seed, StreamDomain domain,
                                          std::uint32_t digit) {
  std::array<std::uint8_t, 24> name{};  // u32 domain, u64 object, u32 digit, u32 limb, u32 round
  for (unsigned i = 0; i < 4; ++i) {
    name[i] = static_cast<std::uint8_t>(static_cast<std::uint32_t>(domain) >> 8 * i);
    name[12 + i] = static_cast<std::uint8_t>(digit >> 8 * i);
  }
  Hash key = blake3_keyed(seed.bytes(), name);
  SecretBuffer<std::uint64_t> words(size);
  chacha20_keystream(key, 0, {reinterpret_cast<std::uint8_t*>(words.data()), 8 * size});
  wipe(key.data(), key.size());
  static_assert(std::endian::native == std::endian::little);
  return words;
}

}  // namespace

SeedSource::SeedSource(const Hash& insecure_seed, const Parameters& parameters, std::string_view who)
    : insecure_(std::make_shared<Sequence>(insecure_seed, 0)) {
  if (parameters.insecure()) return;
  throw Error(ErrorKind::kSecurity, std::string(who) +
                                        ": whoever knows the seed knows what is made of it, and these parameters "
                                        "promise " +
                                        std::to_string(parameters.fields().security_bits) +
                                        "-bit security; for tests, use parameters.mark_insecure()");
}

Hash SeedSource::draw() const {
  if (!is_seeded()) return os_entropy();
  const std::uint64_t number = insecure_->count.fetch_add(1);
  std::array<std::uint8_t, sizeof number> name;
  for (std::size_t i = 0; i < name.size(); ++i) name[i] = static_cast<std::uint8_t>(number >> 8 * i);
  return blake3_keyed(insecure_->seed, name);
}

PrivateSeed::PrivateSeed(const SeedSource& source) : bytes_(32) {
  Hash fresh = source.draw();
  std::copy(fresh.begin(), fresh.end(), bytes_.begin());
  wipe(fresh.data(), fresh.size());
}

PrivateSeed::PrivateSeed(std::span<const std::uint8_t, 32> bytes) : bytes_(32) {
  std::copy(bytes.begin(), bytes.end(), bytes_.begin());
}

SecretBuffer<std::int64_t> sample_ternary(std::size_t size, const PrivateSeed& seed, StreamDomain domain) {
  const SecretBuffer<std::uint64_t> words = private_words(size, seed, domain, 0);
  SecretBuffer<std::int64_t> out(size);
  for (std::size_t i = 0; i < size; ++i) {
    out[i] = static_cast<std::int64_t>(static_cast<U128>(words[i]) * 3 >> 64) - 1;
  }
  return out;
}

SecretBuffer<std::int64_t> sample_sparse(std::size_t size, std::size_t weight, const PrivateSeed& seed) {
  const SecretBuffer<std::uint64_t> words = private_words(2 * weight, seed, StreamDomain::kSparseSecret, 0);
  SecretBuffer<std::int64_t> out(size);
  std::fill(out.begin(), out.end(), 0);
  for (std::size_t k = 0; k < weight; ++k) {
    // The place-th of the coefficients that are still 0 becomes the sign.
    const std::uint64_t place = static_cast<std::uint64_t>(static_cast<U128>(words[2 * k]) * (size - k) >> 64);
    const std::int64_t sign = 1 - 2 * static_cast<std::int64_t>(words[2 * k + 1] & 1);
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < size; ++i) {
      const std::uint64_t is_free = 1 - (static_cast<std::uint64_t>(out[i]) & 1);
      const std::uint64_t difference = seen ^ place;
      const std::uint64_t is_place = 1 - ((difference | (0 - difference)) >> 63);
      out[i] += sign * static_cast<std::int64_t>(is_free & is_place);
      seen += is_free;
    }
  }
  return out;
}

SecretBuffer<std::int64_t> sample_error(std::size_t size, const PrivateSeed& seed, std::uint32_t digit) {
  constexpr std::uint64_t kMask = (1u << 21) - 1;
  const SecretBuffer<std::uint64_t> words = private_words(size, seed, StreamDomain::kError, digit);
  SecretBuffer<std::int64_t> out(size);
  for (std::size_t i = 0; i < size; ++i) {
    out[i] = std::popcount(words[i] & kMask) - std::popcount(words[i] >> 21 & kMask);
  }
  return out;
}

SecretPolys::~SecretPolys() {
  if (residues_.bytes() == 0) return;  // moved from
  ring_->kernels().zero(ring_->queue(), residues_.view());
}

SecretPolys to_ntt(const Ring& ring, std::span<const std::int64_t> coefficients, const LimbList& limbs) {
  SecretPolys out(ring, limbs, 1);
  ring.kernels().import_signed(ring.queue(), out->view(), coefficients);
  ring.kernels().ntt(ring.queue(), out->view(), out->view());
  return out;
}

}  // namespace lw
