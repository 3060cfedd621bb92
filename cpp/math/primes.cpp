#include "math/primes.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <string>

#include "math/error.hpp"
#include "math/modulus.hpp"

namespace lw {
namespace {

constexpr std::uint64_t kPrimeLimit = std::uint64_t{1} << 60;

// Works for every 64-bit n, where the Barrett constants of Modulus stop at 2^60.
std::uint64_t pow_mod(std::uint64_t base, std::uint64_t exponent, std::uint64_t n) noexcept {
  U128 result = 1, square = base % n;
  for (; exponent != 0; exponent >>= 1) {
    if (exponent & 1) result = result * square % n;
    square = square * square % n;
  }
  return static_cast<std::uint64_t>(result);
}

bool is_witness(std::uint64_t base, std::uint64_t n) noexcept {
  const int twos = std::countr_zero(n - 1);
  U128 x = pow_mod(base, (n - 1) >> twos, n);
  if (x == 1) return false;
  for (int i = 0; i < twos; ++i) {
    if (x == n - 1) return false;
    x = x * x % n;
  }
  return true;
}

}  // namespace

bool is_prime(std::uint64_t n) noexcept {
  constexpr std::array<std::uint64_t, 12> kBases = {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37};
  if (n < 2) return false;
  for (const std::uint64_t p : kBases) {
    if (n % p == 0) return n == p;
  }
  return std::none_of(kBases.begin(), kBases.end(), [n](std::uint64_t base) { return is_witness(base, n); });
}

std::vector<std::uint64_t> primes_near(std::uint64_t target, std::uint64_t two_n, std::size_t count) {
  if (!std::has_single_bit(two_n) || two_n < 2 || target <= two_n || target >= kPrimeLimit) {
    throw Error(ErrorKind::kValue, "primes_near: target " + std::to_string(target) + " must lie between two_n = " +
                                       std::to_string(two_n) + " (a power of two) and 2^60");
  }
  // Candidates k * two_n + 1: `above` walks up from the target, `below` walks down to two_n + 1; 0 = used up.
  std::uint64_t below = (target - 1) / two_n * two_n + 1;
  std::uint64_t above = below + two_n;
  const auto skip_up = [&] {
    while (above < kPrimeLimit && !is_prime(above)) above += two_n;
    if (above >= kPrimeLimit) above = 0;
  };
  const auto skip_down = [&] {
    while (below > two_n && !is_prime(below)) below -= two_n;
    if (below <= two_n) below = 0;
  };
  skip_up();
  skip_down();
  std::vector<std::uint64_t> primes;
  while (primes.size() < count) {
    if (above == 0 && below == 0) {
      throw Error(ErrorKind::kValue, "primes_near: only " + std::to_string(primes.size()) + " of " +
                                         std::to_string(count) + " primes = 1 mod " + std::to_string(two_n) +
                                         " exist below 2^60; ask for fewer");
    }
    // above / target < target / below, in integers
    const bool take_above =
        below == 0 || (above != 0 && static_cast<U128>(above) * below < static_cast<U128>(target) * target);
    if (take_above) {
      primes.push_back(above);
      above += two_n;
      skip_up();
    } else {
      primes.push_back(below);
      below -= two_n;
      skip_down();
    }
  }
  return primes;
}

std::uint64_t smallest_primitive_root(std::uint64_t q, std::uint64_t two_n) noexcept {
  const Modulus modulus(q);
  std::uint64_t root = 0;
  for (std::uint64_t x = 2;; ++x) {
    root = modulus.pow(x, (q - 1) / two_n);
    if (modulus.pow(root, two_n / 2) == q - 1) break;
  }
  // The primitive roots are the odd powers of any one of them.
  const std::uint64_t square = modulus.mul(root, root);
  std::uint64_t smallest = root;
  for (std::uint64_t i = 1; i < two_n / 2; ++i) {
    root = modulus.mul(root, square);
    smallest = std::min(smallest, root);
  }
  return smallest;
}

}  // namespace lw
