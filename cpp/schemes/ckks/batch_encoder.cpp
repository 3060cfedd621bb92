#include "schemes/ckks/batch_encoder.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <utility>

#include "backend/embedding.hpp"
#include "math/error.hpp"
#include "rlwe/decryptor.hpp"
#include "schemes/ckks/encoder.hpp"

namespace lw::ckks {
namespace {

/// Slot vectors on their way to coefficients. Work: [coefficients][complex values, if more than a kernel takes].
class SlotMessages final : public BatchMessages {
 public:
  SlotMessages(const Context& context, const SlotVectors& vectors, Level level, double scale,
               std::shared_ptr<const Scratch> roots)
      : ring_(context.ring()),
        client_(client_kernels(context)),
        vectors_(vectors),
        label_{.residues = nullptr,
               .level = level,
               .basis = Basis::kQ,
               .scale = scale,
               .slots = static_cast<std::uint32_t>(vectors.slots),
               .parameters = context.parameters().fingerprint()},
        roots_(std::move(roots)) {}

  std::size_t count() const noexcept override { return vectors_.count; }
  Plaintext label(std::size_t) const noexcept override { return label_; }
  std::span<const std::byte> numbers(MessageRange range) const noexcept override {
    const std::size_t each = vectors_.numbers_each();
    return std::as_bytes(vectors_.numbers.subspan(range.first * each, range.count * each));
  }
  std::size_t work_words(std::size_t count) const noexcept override {
    return (vectors_.slots > client_.most_slots_at_once() ? 4 : 2) * count * vectors_.slots;
  }
  ItemIntegers integers(Word* numbers, Word* work, std::size_t count, Word* is_wrong) const noexcept override {
    const std::size_t each = 2 * vectors_.slots;
    client_.unembed(ring_.queue(), work, {numbers, count, vectors_.slots, vectors_.is_real}, work + count * each,
                    roots_->words().data(), label_.scale, is_wrong);
    return {work, each};
  }
  void refuse() const override { refuse_coefficients(label_.scale); }

 private:
  const Ring& ring_;
  const ClientKernels& client_;
  const SlotVectors vectors_;
  const Plaintext label_;
  const std::shared_ptr<const Scratch> roots_;
};

}  // namespace

BatchEncoder::BatchEncoder(const Context& context) : context_(context), client_(client_kernels(context)) {
  static_cast<void>(Encoder(context));  // which refuses BFV parameters
}

std::shared_ptr<const Scratch> BatchEncoder::roots_for(std::size_t slots) const {
  const std::lock_guard lock(mutex_);
  if (num_roots_ >= slots) return roots_;
  const std::vector<std::complex<double>> roots = embedding_roots(static_cast<std::uint32_t>(slots));
  const Ring& ring = context_.ring();
  auto made = std::make_shared<Scratch>(ring, 2 * slots);
  ring.device().upload(ring.queue(), {made->words().data(), roots.data(), 2 * slots * sizeof(Word), 1, 0, 0});
  num_roots_ = slots;
  return roots_ = std::move(made);
}

std::unique_ptr<const BatchMessages> BatchEncoder::messages(const SlotVectors& vectors, Level level,
                                                            double scale) const {
  Encoder(context_).check(vectors.slots, scale);
  return std::make_unique<SlotMessages>(context_, vectors, level, scale, roots_for(vectors.slots));
}

std::vector<Plaintext> BatchEncoder::encode(const SlotVectors& vectors, Level level, double scale) const {
  const std::unique_ptr<const BatchMessages> messages = this->messages(vectors, level, scale);
  const Ring& ring = context_.ring();
  const LimbList limbs = context_.limbs(level, Basis::kQ);
  const std::size_t most = messages_at_once(limbs.size() * ring.stride());
  std::vector<Plaintext> made;
  for (std::size_t first = 0; first < vectors.count; first += most) {
    const MessageRange range = {first, std::min(most, vectors.count - first)};
    const std::span<const std::byte> pieces[] = {messages->numbers(range)};
    const std::size_t work = (pieces[0].size() / sizeof(Word) + 3) / 2 * 2;  // after a verdict and the numbers, aligned
    SecretWords words(ring, work + messages->work_words(range.count));
    RnsPolys residues(ring, limbs, static_cast<std::uint32_t>(range.count));
    Word is_wrong = 0;
    ring.device().upload(ring.queue(), {words.at(0), &is_wrong, sizeof is_wrong, 1, 0, 0});
    ring.device().upload_secret(ring.queue(), words.at(2), pieces);
    const ItemIntegers integers = messages->integers(words.at(2), words.at(work), range.count, words.at(0));
    client_.import_messages(ring.queue(), residues.view(), integers);
    ring.kernels().ntt(ring.queue(), residues.view(), residues.view());
    ring.device().download(ring.queue(), {&is_wrong, words.at(0), sizeof is_wrong, 1, 0, 0});
    if (is_wrong != 0) messages->refuse();
    for (std::uint32_t i = 0; i < range.count; ++i) {
      made.push_back(messages->label(i));
      made.back().residues = std::make_shared<const RnsPolys>(residues.part(i, 1));
    }
  }
  return made;
}

std::vector<double> BatchEncoder::decrypt(const BatchDecryptor& decryptor, std::span<const Ciphertext> x,
                                          bool is_real) const {
  if (x.empty()) return {};
  for (const Ciphertext& one : x) {
    check_readable(context_, decryptor.key_set(), one);
    if (one.encoding != Encoding::kSlots) {
      throw Error(ErrorKind::kShape, "decrypt: coefficients are decrypted on the host, without device=");
    }
    if (one.degree() == x[0].degree() && one.slots == x[0].slots && one.degree() <= 2) continue;
    throw Error(ErrorKind::kShape, "decrypt: ciphertexts of one batch have one degree, up to 2, and as many slots");
  }
  std::vector<double> out((is_real ? 1 : 2) * x.size() * x[0].slots);
  const std::size_t each = out.size() / x.size(), most = messages_at_once(3 * context_.ring().stride());
  for (std::size_t first = 0; first < x.size();) {
    // Those that are read from as many limbs.
    const LimbList limbs = limbs_of(x[first]);
    std::size_t end = first + 1;
    while (end < x.size() && end - first < most && limbs_of(x[end]) == limbs) ++end;
    decrypt_some(decryptor, x.subspan(first, end - first), is_real,
                 std::span(out).subspan(first * each, (end - first) * each));
    first = end;
  }
  return out;
}

LimbList BatchEncoder::limbs_of(const Ciphertext& x) const {
  return message_limbs(context_.parameters(), context_.limbs(x.level, Basis::kQ), x.scale);
}

void BatchEncoder::decrypt_some(const BatchDecryptor& decryptor, std::span<const Ciphertext> x, bool is_real,
                                std::span<double> out) const {
  const Ring& ring = context_.ring();
  const std::size_t slots = x[0].slots, words = 2 * x.size() * slots;
  const LimbList limbs = limbs_of(x[0]);
  const std::shared_ptr<const Scratch> roots = roots_for(slots);
  std::vector<double> scales;
  for (const Ciphertext& one : x) scales.push_back(one.scale);
  SecretPolys phases = decryptor.phases(x, limbs);
  SecretWords read(ring, 2 * words);
  client_.read(ring.queue(), {read.at(0), x.size(), slots, is_real}, phases->view(), scales,
               mixed_radix_inverses(ring, limbs), read.at(words), roots->words().data());
  ring.device().download(ring.queue(), {out.data(), read.at(0), out.size_bytes(), 1, 0, 0});
}

}  // namespace lw::ckks
