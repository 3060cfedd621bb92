// The arguments of a checked kernel as they lie in memory: addresses in it are those of the machine that it is made
// for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "backend/gpu/tables.hpp"

namespace lw::gpu {

/// Words that will lie from `base` on, aligned to 16 bytes.
class Image {
 public:
  static constexpr std::size_t kMostWords = std::size_t{1} << 20;

  explicit Image(void* base) : base_(static_cast<std::byte*>(base)) {}

  /// Appends things, and says where they will be. Throws std::length_error beyond kMostWords.
  template <class T>
  T* put(std::span<const std::remove_const_t<T>> things) {
    const std::size_t begin = words_.size(), bytes = things.size_bytes();
    words_.resize(begin + (bytes + 15) / 16 * 2);
    if (words_.size() > kMostWords) throw std::length_error("an image of too many words");
    std::memcpy(words_.data() + begin, things.data(), bytes);
    return reinterpret_cast<T*>(base_ + begin * sizeof(Word));
  }
  Word* put_zeros(std::size_t count) { return put<Word>(std::vector<Word>(count)); }
  /// Puts random residues of an arithmetic modulo each limb into the image.
  template <class A>
  Word* put_residues(const HostTables& tables, std::uint32_t polys) {
    std::vector<Word> residues;
    for (std::uint32_t poly = 0; poly < polys; ++poly) {
      for (const Modulus& m : tables.moduli()) {
        IntegerPrime prime = {};
        prime.value = m.value();
        for (std::uint32_t i = 0; i < tables.degree(); ++i) {
          residues.push_back(A::to_word(A::from_canonical(m.reduce(random_()), prime)));
        }
      }
    }
    return put<Word>(residues);
  }

  std::span<Word> words() noexcept { return words_; }

 private:
  std::byte* const base_;
  std::mt19937_64 random_;  // always from the same seed: images for two machines hold the same residues
  std::vector<Word> words_;
};

}  // namespace lw::gpu
