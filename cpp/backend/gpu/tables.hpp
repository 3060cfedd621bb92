// Constants on a device for one ring, and for one base conversion.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "backend/accumulator.hpp"
#include "backend/gpu/arithmetic.hpp"
#include "backend/kernels.hpp"
#include "math/modulus.hpp"

namespace lw::gpu {

/// A ring's constants, as kernels get them: those of each prime, and its twiddles w[m + i] = psi^bitrev(m + i), the
/// factor of block i in the stage of m blocks. The inverse factor of that block is -w[2m - 1 - i].
struct Tables {
  const std::byte* primes;
  const std::byte* twiddles;
  std::uint32_t log_degree;

  LW_GPU std::uint32_t degree() const noexcept { return std::uint32_t{1} << log_degree; }
  template <class A>
  LW_GPU typename A::Prime prime(std::uint32_t limb) const noexcept {
    return Global(reinterpret_cast<const typename A::Prime*>(primes)).load(limb);
  }
  template <class A>
  LW_GPU Global<const typename A::Twiddle> twiddles_of(std::uint32_t limb) const noexcept {
    return Global(reinterpret_cast<const typename A::Twiddle*>(twiddles)) + (std::size_t{limb} << log_degree);
  }
};

/// The same on the host, to be copied to a device as it is.
class HostTables {
 public:
  /// Primes suit the arithmetic and are 1 modulo 2N.
  HostTables(Arithmetic arithmetic, std::uint32_t ring_degree, const std::vector<std::uint64_t>& primes);

  Arithmetic arithmetic() const noexcept { return arithmetic_; }
  std::uint32_t degree() const noexcept { return degree_; }
  std::span<const Modulus> moduli() const noexcept { return moduli_; }
  std::span<const Word> words() const noexcept { return words_; }
  /// The tables at their addresses on a device, whose words lie from `base` on, which is aligned to 16 bytes.
  Tables at(const void* base) const noexcept;

 private:
  template <class A>
  void fill();

  const Arithmetic arithmetic_;
  const std::uint32_t degree_;
  const std::vector<Modulus> moduli_;
  std::size_t twiddle_words_ = 0;  // where twiddles begin
  std::vector<Word> words_;
};

template <class A>
struct ConversionSource {
  typename A::Twiddle inverse;
  double reciprocal;
  std::uint64_t limb;
};

template <class A>
struct ConversionTarget {
  typename A::SumLimits sums;
  typename A::Value minus_total;
  std::uint64_t limb;
};

/// A BaseConversionTable as kernels get it: its sources, its targets, and the weights [t][j] as words at rest.
struct DeviceConversion {
  const Word* base;  // aligned to 16 bytes
  std::uint32_t num_from, num_to;

  template <class A>
  LW_GPU Global<const ConversionSource<A>> sources() const noexcept {
    return Global(reinterpret_cast<const ConversionSource<A>*>(base));
  }
  template <class A>
  LW_GPU Global<const ConversionTarget<A>> targets() const noexcept {
    return Global(reinterpret_cast<const ConversionTarget<A>*>(sources<A>().address() + num_from));
  }
  template <class A>
  LW_GPU Global<const Word> weights() const noexcept {
    return Global(reinterpret_cast<const Word*>(targets<A>().address() + num_to));
  }
};

/// The accumulator of the sums of a table modulo one of its target primes, in doubles.
Accumulator conversion_accumulator(std::span<const Modulus> moduli, const BaseConversionTable& table,
                                   std::uint64_t target) noexcept;

/// Words of a table on a device, and their values.
std::size_t convert_words(Arithmetic arithmetic, const BaseConversionTable& table) noexcept;
void write_conversion(Arithmetic arithmetic, std::span<const Modulus> moduli, const BaseConversionTable& table,
                      Word* out) noexcept;

}  // namespace lw::gpu
