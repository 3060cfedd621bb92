// Vectors of four doubles, each in two registers of NEON, under the names that the kernels use; see vectors_avx2.hpp.
// Of 32 registers that makes as many vectors as AVX2 has, and the two halves of an operation do not wait for each
// other.
#pragma once

#include <arm_neon.h>

#include <cstddef>
#include <cstdint>

#include "backend/cpu/prime.hpp"
#include "math/simd_words.hpp"

namespace lw::cpu {
namespace {

struct Neon {
  struct F64 {
    float64x2_t low, high;
  };
  struct I64 {
    uint64x2_t low, high;
  };
  using Narrow = Neon;
  using Stream = Words4;                           // a block of keystream in each word
  static constexpr std::size_t kStreamStates = 1;  // of keystream at once
  static constexpr std::size_t kWords = 4;
  static constexpr std::size_t kSums = 4;  // side by side, that 32 registers of half a vector hold

  static F64 set(double x) noexcept { return {vdupq_n_f64(x), vdupq_n_f64(x)}; }
  static F64 load(const double* p) noexcept { return {vld1q_f64(p), vld1q_f64(p + 2)}; }
  static F64 load(const Word* p) noexcept { return as_f64(load_words(p)); }
  static void store(double* p, F64 x) noexcept {
    vst1q_f64(p, x.low);
    vst1q_f64(p + 2, x.high);
  }
  static void store(Word* p, F64 x) noexcept { store_words(p, as_i64(x)); }
  /// Past the caches, if the processor takes the hint; seen by others as any store is.
  static void stream(Word* p, F64 x) noexcept {
    asm("stnp %q1, %q2, %0" : "=Q"(*reinterpret_cast<Word(*)[kWords]>(p)) : "w"(x.low), "w"(x.high));
  }
  static void finish_streams() noexcept {}
  [[gnu::always_inline]] static void prefetch_to_write(Word* p) noexcept { __builtin_prefetch(p, 1, 3); }
  [[gnu::always_inline]] static void prefetch(const Word* p) noexcept { __builtin_prefetch(p, 0, 3); }

  static F64 add(F64 a, F64 b) noexcept { return {vaddq_f64(a.low, b.low), vaddq_f64(a.high, b.high)}; }
  static F64 sub(F64 a, F64 b) noexcept { return {vsubq_f64(a.low, b.low), vsubq_f64(a.high, b.high)}; }
  static F64 mul(F64 a, F64 b) noexcept { return {vmulq_f64(a.low, b.low), vmulq_f64(a.high, b.high)}; }
  static F64 neg(F64 a) noexcept { return {vnegq_f64(a.low), vnegq_f64(a.high)}; }
  static F64 fma(F64 a, F64 b, F64 c) noexcept {
    return {vfmaq_f64(c.low, a.low, b.low), vfmaq_f64(c.high, a.high, b.high)};
  }
  static F64 fnma(F64 a, F64 b, F64 c) noexcept {
    return {vfmsq_f64(c.low, a.low, b.low), vfmsq_f64(c.high, a.high, b.high)};
  }
  /// NEON has no a b - c, so c - a b is subtracted.
  static F64 add_rest(F64 a, F64 b, F64 c, F64 d) noexcept { return sub(d, fnma(a, b, c)); }
  static F64 round(F64 a) noexcept { return {vrndnq_f64(a.low), vrndnq_f64(a.high)}; }
  static F64 sub_above(F64 x, F64 bound, F64 y) noexcept {
    return sub(x, masked({vcgtq_f64(x.low, bound.low), vcgtq_f64(x.high, bound.high)}, y));
  }
  static F64 add_below_zero(F64 x, F64 y) noexcept {
    return add(x, masked({vcltzq_f64(x.low), vcltzq_f64(x.high)}, y));
  }

  struct alignas(16) Order {
    std::uint8_t bytes[32];
    constexpr void set(std::size_t k, std::size_t from) noexcept {
      for (std::size_t byte = 0; byte < 8; ++byte) bytes[8 * k + byte] = static_cast<std::uint8_t>(8 * from + byte);
    }
  };
  static F64 reorder(F64 a, const Order& order) noexcept {
    const uint8x16x2_t table = {vreinterpretq_u8_f64(a.low), vreinterpretq_u8_f64(a.high)};
    return {vreinterpretq_f64_u8(vqtbl2q_u8(table, vld1q_u8(order.bytes))),
            vreinterpretq_f64_u8(vqtbl2q_u8(table, vld1q_u8(order.bytes + 16)))};
  }
  static F64 low_twice(F64 a) noexcept { return {a.low, a.low}; }
  static F64 high_twice(F64 a) noexcept { return {a.high, a.high}; }
  static F64 low_and_high(F64 a, F64 b) noexcept { return {a.low, b.high}; }
  static F64 repeat2(const double* p) noexcept { return {vld1q_f64(p), vld1q_f64(p)}; }

  // Four limbs of four words, `step` words apart, as columns: word i of v[j] is word j of limb i.
  static void load_columns(F64 (&v)[4], const Word* p, std::ptrdiff_t step) noexcept {
    columns(v, load(p), load(p + step), load(p + 2 * step), load(p + 3 * step));
  }
  static void store_columns(Word* p, std::ptrdiff_t step, const F64 (&v)[4]) noexcept {
    F64 limbs[4];
    columns(limbs, v[0], v[1], v[2], v[3]);
    for (int i = 0; i < 4; ++i) store(p + i * step, limbs[i]);
  }

  static I64 set_words(std::uint64_t x) noexcept { return {vdupq_n_u64(x), vdupq_n_u64(x)}; }
  static I64 load(const std::int64_t* p) noexcept {
    return {vreinterpretq_u64_s64(vld1q_s64(p)), vreinterpretq_u64_s64(vld1q_s64(p + 2))};
  }
  static I64 load_words(const Word* p) noexcept { return {vld1q_u64(p), vld1q_u64(p + 2)}; }
  static void store_words(Word* p, I64 x) noexcept {
    vst1q_u64(p, x.low);
    vst1q_u64(p + 2, x.high);
  }
  static F64 from_words(I64 x) noexcept { return {vcvtq_f64_u64(x.low), vcvtq_f64_u64(x.high)}; }
  static I64 to_words(F64 x) noexcept { return {vcvtq_u64_f64(x.low), vcvtq_u64_f64(x.high)}; }
  static F64 signed_high(I64 x) noexcept { return {signed_high(x.low), signed_high(x.high)}; }
  static F64 upper_half(I64 x) noexcept { return from_words(bit_and(x, set_words(~std::uint64_t{0xffff'ffff}))); }
  static F64 low_half(I64 x) noexcept { return from_words(bit_and(x, set_words(0xffff'ffff))); }

  class Above {
   public:
    explicit Above(std::uint64_t bound) noexcept : bound_(vdupq_n_u64(bound)), found_(vdupq_n_u64(0)) {}
    void show(I64 x) noexcept {
      found_ = vorrq_u64(found_, vorrq_u64(vcgtq_u64(x.low, bound_), vcgtq_u64(x.high, bound_)));
    }
    bool none() const noexcept { return (vgetq_lane_u64(found_, 0) | vgetq_lane_u64(found_, 1)) == 0; }

   private:
    const uint64x2_t bound_;
    uint64x2_t found_;
  };

  static I64 load_pairs(const std::byte* from, const std::size_t (&places)[2]) noexcept {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(from);
    return {vreinterpretq_u64_u8(vld1q_u8(bytes + places[0])), vreinterpretq_u64_u8(vld1q_u8(bytes + places[1]))};
  }
  static I64 reorder_bytes(I64 x, I64 order) noexcept {
    return {reorder_bytes(x.low, order.low), reorder_bytes(x.high, order.high)};
  }
  static I64 shift_right(I64 x, I64 bits) noexcept {
    return {shift_right(x.low, bits.low), shift_right(x.high, bits.high)};
  }
  static I64 bit_and(I64 x, I64 y) noexcept { return {vandq_u64(x.low, y.low), vandq_u64(x.high, y.high)}; }

  static F64 reals(F64 a) noexcept { return {vtrn1q_f64(a.low, a.low), vtrn1q_f64(a.high, a.high)}; }
  static F64 imaginaries(F64 a) noexcept { return {vtrn2q_f64(a.low, a.low), vtrn2q_f64(a.high, a.high)}; }
  static F64 swapped(F64 a) noexcept { return {vextq_f64(a.low, a.low, 1), vextq_f64(a.high, a.high, 1)}; }
  static F64 conjugate(F64 a) noexcept { return signs_turned(a, vsetq_lane_u64(kSign, vdupq_n_u64(0), 1)); }
  static F64 fma_sub_add(F64 a, F64 b, F64 c) noexcept {
    return fma(a, b, signs_turned(c, vsetq_lane_u64(kSign, vdupq_n_u64(0), 0)));
  }

 private:
  static constexpr std::uint64_t kSign = std::uint64_t{1} << 63;

  static F64 as_f64(I64 x) noexcept { return {vreinterpretq_f64_u64(x.low), vreinterpretq_f64_u64(x.high)}; }
  static I64 as_i64(F64 x) noexcept { return {vreinterpretq_u64_f64(x.low), vreinterpretq_u64_f64(x.high)}; }
  static F64 masked(I64 mask, F64 x) noexcept { return as_f64(bit_and(mask, as_i64(x))); }
  static F64 signs_turned(F64 x, uint64x2_t signs) noexcept {
    const I64 bits = as_i64(x);
    return as_f64({veorq_u64(bits.low, signs), veorq_u64(bits.high, signs)});
  }
  static void columns(F64 (&v)[4], F64 a, F64 b, F64 c, F64 d) noexcept {
    v[0] = {vtrn1q_f64(a.low, b.low), vtrn1q_f64(c.low, d.low)};
    v[1] = {vtrn2q_f64(a.low, b.low), vtrn2q_f64(c.low, d.low)};
    v[2] = {vtrn1q_f64(a.high, b.high), vtrn1q_f64(c.high, d.high)};
    v[3] = {vtrn2q_f64(a.high, b.high), vtrn2q_f64(c.high, d.high)};
  }
  static float64x2_t signed_high(uint64x2_t x) noexcept {
    return vcvtq_f64_s64(vshrq_n_s64(vreinterpretq_s64_u64(x), 32));
  }
  static uint64x2_t reorder_bytes(uint64x2_t x, uint64x2_t order) noexcept {
    return vreinterpretq_u64_u8(vqtbl1q_u8(vreinterpretq_u8_u64(x), vreinterpretq_u8_u64(order)));
  }
  static uint64x2_t shift_right(uint64x2_t x, uint64x2_t bits) noexcept {
    return vshlq_u64(x, vnegq_s64(vreinterpretq_s64_u64(bits)));
  }
};

}  // namespace
}  // namespace lw::cpu
