#include <algorithm>
#include <array>

#include "backend/cpu/kernels.hpp"
#include "backend/cpu/queue.hpp"
#include "backend/limb_stream.hpp"

namespace lw::cpu {

void expand_uniform(Queue& q, Rows out, const UniformStream& stream) noexcept {
  constexpr std::size_t kCycles = 10;
  constexpr std::size_t kTile = 1024;
  CpuQueue& queue = cpu_queue(q);
  queue.for_rows(out, queue.degree * kCycles, [&](std::size_t poly, std::size_t j) {
    const Prime& prime = queue.ntt[out.limbs[j]].prime;
    const Word value = queue.moduli[out.limbs[j]].value();
    const Word largest_accepted = ~Word{0} / value * value - 1;
    const LimbStream stream_of_limb(stream, out.limbs[j]);
    for (std::size_t start = 0; start < queue.degree; start += kTile) {
      std::array<Word, kTile> words;
      const std::size_t size = std::min<std::size_t>(kTile, queue.degree - start);
      Word* to = out.row(poly, j) + start;
      stream_of_limb.first_round(start, {words.data(), size});
      if (queue.row.reduce_words(to, words.data(), largest_accepted, size, prime)) continue;
      for (std::size_t i = 0; i < size; ++i) {
        if (words[i] <= largest_accepted) continue;
        const Word word = stream_of_limb.accepted(start + i, words[i], largest_accepted);
        to[i] = balanced_word(word % value, value);
      }
    }
  });
}

}  // namespace lw::cpu
