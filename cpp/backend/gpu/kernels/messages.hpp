// Ciphertexts of many polynomials at a time, wherever they are: at the secret, and their messages read.
#pragma once

#include "backend/gpu/kernels/embedding.hpp"
#include "backend/gpu/kernels/limbs.hpp"
#include "backend/gpu/u64.hpp"

namespace lw::gpu {

/// The value of a ciphertext at the secret, word by word in NTT form. In a grid of (parts of a limb, limbs,
/// ciphertexts).
template <class A>
struct AtSecret : OnePhase {
  static constexpr KernelName kName{A::kName, "at_secret"};
  static constexpr std::uint32_t kThreads = kLimbThreads;

  struct Args {
    Tables tables;
    Target out;
    Global<const Source> ciphertexts;  // polys of the powers of the secret
    Source minus_secret;
    std::uint32_t degree;
    LimbNumbers limbs;
  };

  static LW_GPU void run(std::uint32_t, const Args& args, const Place& place, Shared, Registers&) noexcept {
    using Value = typename A::Value;
    const std::uint32_t i = word_of(place), j = place.block[1];
    const typename A::Prime prime = args.tables.template prime<A>(args.limbs.number[j]);
    const Source x = args.ciphertexts.load(place.block[2]);
    Value sum = A::from_word(x.limb(args.degree, j).load(i));
    for (std::uint32_t power = args.degree; power-- > 0;) {
      const Value minus_secret = A::from_word(args.minus_secret.limb(0, j).load(i));
      sum = A::sub(A::from_word(x.limb(power, j).load(i)), A::mul(sum, minus_secret, prime), prime);
    }
    args.out.limb(place.block[2], j).store(i, A::to_word(sum));
  }
};

/// Centred integers from their residues in mixed radix, as rlwe/decryptor.cpp reads them, divided by the scale of their
/// message: values of the embedding, in reversed order. Residues are overwritten. In a grid of (parts of the slots, 1,
/// messages).
template <class A>
struct ReadMessages : OnePhase {
  static constexpr KernelName kName{A::kName, "read_messages"};
  static constexpr std::uint32_t kThreads = kLimbThreads;

  struct Args {
    Tables tables;
    Target residues;  // in coefficient form
    Numbers<Word> out;
    Global<const double> scales;  // of each message
    Global<const Word> inverses;  // [j][i]: of prime i modulo prime j
    std::uint32_t log_slots, num_limbs;
    LimbNumbers limbs;
  };

  static LW_GPU void run(std::uint32_t, const Args& args, const Place& place, Shared, Registers&) noexcept {
    const std::uint32_t i = word_of(place), slots = 1u << args.log_slots, message = place.block[2];
    const std::uint32_t gap = args.tables.degree() / (2 * slots);
    const double scale = args.scales.load(message);
    const ComplexValue value = {integer_at(args, message, i * gap) / scale,
                                integer_at(args, message, (i + slots) * gap) / scale};
    args.out.store(std::size_t{message} * slots + reversed_index(i, args.log_slots), value);
  }

 private:
  static LW_GPU double integer_at(const Args& args, std::uint32_t message, std::uint32_t k) noexcept {
    for (std::uint32_t j = 0; j < args.num_limbs; ++j) {
      const typename A::Prime prime = args.tables.template prime<A>(args.limbs.number[j]);
      std::uint64_t x = A::to_canonical(A::from_word(args.residues.limb(message, j).load(k)), prime);
      for (std::uint32_t i = 0; i < j; ++i) {
        const std::uint64_t q = args.tables.template prime<A>(args.limbs.number[i]).value;
        const std::uint64_t digit = args.residues.limb(message, i).load(k);
        const std::uint64_t shift = prime.reduce(q) & (0 - std::uint64_t{digit > q / 2});
        x = difference(x, difference(prime.reduce(digit), shift, prime), prime);
        const std::uint64_t inverse = args.inverses.load(j * args.num_limbs + i);
        x = U64::reduce(mul_high(x, inverse), x * inverse, prime);
      }
      args.residues.limb(message, j).store(k, x);
    }
    double value = 0;
    for (std::uint32_t j = args.num_limbs; j-- > 0;) {
      const std::uint64_t q = args.tables.template prime<A>(args.limbs.number[j]).value;
      const std::uint64_t digit = args.residues.limb(message, j).load(k);
      const std::uint64_t centred = digit - (q & (0 - std::uint64_t{digit > q / 2}));
      value = value * static_cast<double>(q) + static_cast<double>(static_cast<std::int64_t>(centred));
    }
    return value;
  }
  static LW_GPU std::uint64_t difference(std::uint64_t a, std::uint64_t b, const IntegerPrime& p) noexcept {
    return a - b + (p.value & (0 - std::uint64_t{a < b}));
  }
};

}  // namespace lw::gpu
