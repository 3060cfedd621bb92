// Operands of the kernels: every arithmetic step of the core is one function on limbs, and a backend is a table of
// these functions. kernels.def lists them.
//
// Contract common to all entries: batched over polys x limbs. Limbs and scratch are memory of the device, read and
// written in the order of the queue, maybe after the call has returned. All else is memory of the host: what is
// there to be read (spans, limb lists, tables, packed limbs, coefficients) has been read when the call returns, and
// may be a temporary; what is written there (exported limbs, slots, a verdict) is there when it returns. Threads may
// call at the same time, on one queue too, as long as none writes what another reads or writes. Entries never throw:
// a queue that failed keeps its error for Device::check. They do not branch on the scheme. Residues are canonical (in
// [0, q)) in the `ref` encoding, and any representative with |x| < q in others. Except where a comment says so, `out`
// may alias an input, limb by limb. Results are functions of residue classes, except `base_convert`, which takes
// centred representatives.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lw {

class FastSum;

using Word = std::uint64_t;  // one residue at rest, in the backend's encoding

constexpr std::size_t kMostAliasedTerms = 32;  // of a weighted_sum into one of its terms

/// Limbs, each one residue polynomial: limb (p, j) holds N words of poly p modulo prime number limbs[j].
struct LimbView {
  Word* base;
  std::size_t stride;                    // words between consecutive limbs
  std::size_t poly_stride;               // words between consecutive polys
  std::span<const std::uint16_t> limbs;  // limb numbers, in the order of the limbs
  std::uint32_t polys;

  Word* limb(std::size_t poly, std::size_t j) const noexcept { return base + poly * poly_stride + j * stride; }
};

struct ConstLimbView {
  const Word* base;
  std::size_t stride;
  std::size_t poly_stride;
  std::span<const std::uint16_t> limbs;
  std::uint32_t polys;

  ConstLimbView(const Word* b, std::size_t s, std::size_t ps, std::span<const std::uint16_t> l,
                std::uint32_t p) noexcept
      : base(b), stride(s), poly_stride(ps), limbs(l), polys(p) {}
  ConstLimbView(const LimbView& r) noexcept  // NOLINT: every LimbView is a legal source
      : base(r.base), stride(r.stride), poly_stride(r.poly_stride), limbs(r.limbs), polys(r.polys) {}
  const Word* limb(std::size_t poly, std::size_t j) const noexcept { return base + poly * poly_stride + j * stride; }
};

/// Constants of one base conversion from limb set D to limb set T (canonical integers). Schemes fold factors into
/// `inverse`, and into `weight` and `total`: a kernel takes them from here and never from the primes (the weight of a
/// single limb need not be 1). Only `reciprocal` is always what it says.
struct BaseConversionTable {
  /// Names the content, among all tables of a process: a device keeps what it made of it. 0: a table of one use.
  std::uint64_t number = 0;
  std::vector<std::uint16_t> from;  // D, ascending limb number: the order of the sum
  std::vector<std::uint16_t> to;    // T
  std::vector<Word> inverse;        // (D/q_j)^-1 mod q_j, one per D limb
  std::vector<double> reciprocal;   // float64(1/q_j)
  std::vector<Word> weight;         // [t][j]: D/q_j mod t
  std::vector<Word> total;          // D mod t, one per T limb
};

/// A number that no other table has.
std::uint64_t new_table_number() noexcept;

/// Canonical residues as stored: limb (p, j) is N coefficients of widths[j] bits each, little endian, bit-packed.
struct PackedLimbs {
  const std::byte* base;
  std::span<const std::size_t> offsets;  // byte offset of each limb, [poly][limb]
  std::span<const std::uint8_t> widths;  // bits a coefficient, one per limb: 1..64 (64 = plain words)

  /// What limb i of the first poly takes up.
  std::span<const std::uint8_t> limb_bytes(std::size_t i, std::size_t degree) const noexcept {
    return {reinterpret_cast<const std::uint8_t*>(base + offsets[i]), degree * widths[i] / 8};
  }
};
struct PackedLimbsOut {
  std::byte* base;
  std::span<const std::size_t> offsets;
  std::span<const std::uint8_t> widths;
};

/// Signed integers of magnitude < 2^62 in memory of the device: the coefficients at the multiples of N / count, where
/// the others are zero. Each has `width` bytes, little endian, one after the other without gaps: 4 or 8, on the host 2,
/// 3, 5 or 6 as well. Of mirrored ones, on the host alone, the first half is there: number count - i is minus number i,
/// and number count / 2 zero.
struct IntegerView {
  const Word* words = nullptr;
  std::size_t count = 0;  // a power of two up to N
  std::uint32_t width = 8;
  bool is_mirrored = false;

  /// How many are there, and their bytes.
  std::size_t held() const noexcept { return is_mirrored ? count / 2 : count; }
  std::size_t num_bytes() const noexcept { return held() * width; }
};

/// Names one uniform polynomial: residues are a pure function of this, the limb and the position.
struct UniformStream {
  std::span<const std::uint8_t, 32> seed;  // public
  std::uint32_t domain;                    // what it is for: a StreamDomain
  std::uint64_t object;                    // which object of that kind
  std::uint32_t digit;                     // which digit (key) or component
};

/// One digit of a polynomial to be switched: the same limbs in both forms, one poly each. to_rest converts it to the
/// target limbs outside it, in their order there. A digit whose ntt limbs are those of every target limb has no rest:
/// to_rest is null and `coefficients` is not read.
struct DigitLimbs {
  ConstLimbView coefficients;
  ConstLimbView ntt;
  const BaseConversionTable* to_rest;
};

/// Some of the target limbs of a key switch that follow each other.
struct LimbWindow {
  std::size_t first, count;  // places in SwitchSource::limbs
};

/// Limbs of a key for a window of target limbs, wherever they are: of digit d at the window's limb i, [d * count + i].
struct KeyLimbs {
  std::span<const Word* const> b, a;
  std::uint64_t galois_element;  // 1: no automorphism
};

/// The digits of one decomposed value, common to all keys that switch it.
struct SwitchSource {
  std::span<const std::uint16_t> limbs;  // target: P limbs, then Q limbs ascending
  std::size_t num_special;               // how many of them are P limbs
  std::span<const DigitLimbs> digits;
  const ConstLimbView* rest;              // the polys not switched; may be null
  std::span<const Word> special_product;  // P mod each Q limb of `limbs`

  /// Whether `rest` is over all of `limbs`, and is added as it is; else it is over their Q limbs, and multiplied by P.
  bool has_rest_over_p() const noexcept { return rest != nullptr && rest->limbs.size() == limbs.size(); }
};

/// One product of a linear transform: giant `giant` has plain * baby `baby` in its sum.
struct DiagonalTerm {
  std::uint32_t baby, giant;
  ConstLimbView plain{nullptr, 0, 0, {}, 1};  // one poly over the target limbs; or
  IntegerView integers{};                     // its coefficients, on a host alone
};

class Queue;  // the ring's tables and threads, see device.hpp

/// A function for each line of kernels.def, which has their contracts.
struct Kernels {
#define LW_KERNEL(result, name, parameters) result(*name) parameters noexcept;
#include "backend/kernels.def"
};

}  // namespace lw
