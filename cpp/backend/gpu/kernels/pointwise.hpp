// Word by word, modulo each limb: one kernel over an operation.
#pragma once

#include <type_traits>

#include "backend/gpu/kernels/limbs.hpp"

namespace lw::gpu {

/// The operands that an operation reads beside a.
struct Reads {
  bool b = false, out = false, scalar = false;
};

template <class A, class Op>
struct Pointwise : OnePhase {
  static constexpr KernelName kName{A::kName, Op::kName};
  static constexpr std::uint32_t kThreads = kLimbThreads;

  struct NoScalars {};
  struct Args {
    Tables tables;
    Target out;
    Source a, b;
    LimbNumbers limbs;
    std::conditional_t<Op::kReads.scalar, Scalars, NoScalars> scalars;
  };

  static LW_GPU void run(std::uint32_t, const Args& args, const Place& place, Shared, Registers&) noexcept {
    using Value = typename A::Value;
    const std::uint32_t i = word_of(place), j = place.block[1], poly = place.block[2];
    const Global<Word> out = args.out.limb(poly, j);
    const Value a = A::from_word(args.a.limb(poly, j).load(i));
    Value b = A::zero(), before = A::zero(), scalar = A::zero();
    if constexpr (Op::kReads.b) b = A::from_word(args.b.limb(poly, j).load(i));
    if constexpr (Op::kReads.out) before = A::from_word(out.load(i));
    if constexpr (Op::kReads.scalar) scalar = A::from_word(args.scalars.word[j]);
    const typename A::Prime prime = args.tables.template prime<A>(args.limbs.number[j]);
    out.store(i, A::to_word(Op::template result<A>(a, b, before, scalar, prime)));
  }
};

struct CopyOp {
  static constexpr char kName[] = "copy";
  static constexpr Reads kReads = {};
  template <class A, class V, class P>
  static LW_GPU V result(V a, V, V, V, const P&) noexcept {
    return a;
  }
};

/// The pointwise kernels of the seam on one word of a, one of b, the old one of out, and a scalar.
template <class A>
struct WordOperations {
  using Value = typename A::Value;
  using Prime = typename A::Prime;

  static LW_GPU Value add(Value a, Value b, const Prime& p) noexcept { return A::add(a, b, p); }
  static LW_GPU Value sub(Value a, Value b, const Prime& p) noexcept { return A::sub(a, b, p); }
  static LW_GPU Value neg(Value a, const Prime& p) noexcept { return A::neg(a, p); }
  static LW_GPU Value mul(Value a, Value b, const Prime& p) noexcept { return A::mul(a, b, p); }
  static LW_GPU Value mul_add(Value before, Value a, Value b, const Prime& p) noexcept {
    return A::mul_add(a, b, before, p);
  }
  static LW_GPU Value mul_scalar(Value a, Value scalar, const Prime& p) noexcept { return A::mul(a, scalar, p); }
  static LW_GPU Value add_scalar(Value a, Value scalar, const Prime& p) noexcept { return A::add(a, scalar, p); }
  static LW_GPU Value sub_scale(Value a, Value b, Value scalar, const Prime& p) noexcept {
    return A::mul(A::sub(a, b, p), scalar, p);
  }
};

/// The same as types for Pointwise, which say what they read.
namespace operations {
#define LW_OPERATION(name, reads, arguments)                                                                \
  struct name {                                                                                             \
    static constexpr char kName[] = #name;                                                                  \
    static constexpr Reads kReads = reads;                                                                  \
    template <class A, class V, class P>                                                                    \
    static LW_GPU V result(V a, [[maybe_unused]] V b, [[maybe_unused]] V before, [[maybe_unused]] V scalar, \
                           const P& p) noexcept {                                                           \
      return WordOperations<A>::name arguments;                                                             \
    }                                                                                                       \
  };
#define LW_UNARY(name) LW_OPERATION(name, Reads(), (a, p))
#define LW_BINARY(name) LW_OPERATION(name, (Reads{.b = true}), (a, b, p))
#define LW_ACCUMULATE(name) LW_OPERATION(name, (Reads{.b = true, .out = true}), (before, a, b, p))
#define LW_SCALAR(name) LW_OPERATION(name, (Reads{.scalar = true}), (a, scalar, p))
#define LW_BINARY_SCALAR(name) LW_OPERATION(name, (Reads{.b = true, .scalar = true}), (a, b, scalar, p))
#include "backend/kernels.def"
#undef LW_OPERATION
}  // namespace operations

}  // namespace lw::gpu
