// Primes for negacyclic transforms and their roots of unity.
#pragma once

#include <cstdint>
#include <vector>

namespace lw {

/// Exact for every 64-bit n (Miller-Rabin with the first twelve primes as bases).
bool is_prime(std::uint64_t n) noexcept;

/// The `count` primes p = 1 mod two_n with the smallest |log(p / target)|, nearest first; two_n < p < 2^60.
/// two_n is a power of two. Throws lw::Error(kValue) if the range holds fewer primes than that.
std::vector<std::uint64_t> primes_near(std::uint64_t target, std::uint64_t two_n, std::size_t count);

/// The smallest primitive two_n-th root of unity modulo the prime q = 1 mod two_n; two_n is a power of two.
std::uint64_t smallest_primitive_root(std::uint64_t q, std::uint64_t two_n) noexcept;

}  // namespace lw
