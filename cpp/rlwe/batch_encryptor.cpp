#include "rlwe/batch_encryptor.hpp"

#include <algorithm>
#include <string>

#include "math/error.hpp"
#include "ring/uniform.hpp"
#include "rlwe/key_switch.hpp"
#include "rlwe/security.hpp"

namespace lw {
namespace {

constexpr std::size_t kVerdictWords = 2;

// Seeds of a message, in the order in which they are drawn: of the error and of c1, which is public; or of the mask and
// of the errors.
constexpr std::size_t kSeeds = 2, kBytesOfSeed = kSeedWords * sizeof(Word);
constexpr std::uint32_t kErrorSeed = 0, kPublicSeed = 1, kMaskSeed = 0, kErrorsSeed = 1;

ItemStream stream_of(std::uint32_t seed, StreamDomain domain, std::uint32_t digit = 0, std::uint32_t limb = 0) {
  return {seed, static_cast<std::uint32_t>(domain), digit, limb};
}

constexpr std::size_t even(std::size_t words) noexcept { return words + words % 2; }

/// Poly `number` of each item.
LimbView every(RnsPolys& polys, std::uint32_t number, std::uint32_t each) noexcept {
  LimbView view = polys.view(number, 1, 0, polys.limbs().size());
  view.poly_stride *= each;
  view.polys = polys.polys() / each;
  return view;
}

}  // namespace

PlaintextMessages::PlaintextMessages(const Context& context, std::vector<Plaintext> plaintexts)
    : ring_(context.ring()), plaintexts_(std::move(plaintexts)) {
  for (Plaintext& x : plaintexts_) {
    x.residues = context.here(std::move(x.residues));
    check_message(context, x);
    if (x.level == plaintexts_[0].level) continue;
    throw Error(ErrorKind::kLevel, "encrypt: plaintexts at " + to_string(plaintexts_[0].level) + " and " +
                                       to_string(x.level) + "; those of one batch are at one level");
  }
}

void PlaintextMessages::add_to(LimbView polys, MessageRange range) const noexcept {
  for (std::size_t i = 0; i < range.count; ++i) {
    const LimbView poly = {polys.limb(i, 0), polys.stride, polys.poly_stride, polys.limbs, 1};
    ring_.kernels().add(ring_.queue(), poly, poly, plaintexts_[range.first + i].residues->view());
  }
}

BatchEncryptor::BatchEncryptor(const Context& context, std::shared_ptr<const SecretKey> key, SeedSource seeds)
    : context_(context),
      client_(client_kernels(context)),
      key_set_(key->id()),
      secret_(std::make_unique<DeviceSecret>(context, *key)),
      seeds_(std::move(seeds)) {}

BatchEncryptor::BatchEncryptor(const Context& context, std::shared_ptr<const PublicKey> key, SeedSource seeds)
    : context_(context), client_(client_kernels(context)), key_set_(key->id), seeds_(std::move(seeds)) {
  PublicKey there = *key;
  there.b = context.here(std::move(there.b));
  there.a = context.here(std::move(there.a));
  check_context(there.parameters, *there.b, context, "Encryptor: the public key");
  public_ = std::make_shared<const PublicKey>(std::move(there));
}

/// Messages on the device, with the words of secret memory that they take: [verdict][seeds][numbers][keys][work], each
/// aligned to pairs of words.
struct BatchEncryptor::Part {
  MessageRange range;
  std::vector<Hash> public_seeds;  // of c1
  std::size_t numbers, keys, work, streams;
  SecretWords words;

  Word* verdict() noexcept { return words.at(0); }
  Word* seeds() noexcept { return words.at(kVerdictWords); }
  /// Keys of a stream of each message.
  ItemKeys key(std::size_t stream) noexcept { return {words.at(keys + stream * kSeedWords), streams}; }
};

std::vector<ItemStream> BatchEncryptor::streams(const LimbList& limbs) const {
  if (secret_ == nullptr) {
    return {stream_of(kErrorsSeed, StreamDomain::kError), stream_of(kErrorsSeed, StreamDomain::kError, 1),
            stream_of(kMaskSeed, StreamDomain::kEncryptionMask)};
  }
  std::vector<ItemStream> found = {stream_of(kErrorSeed, StreamDomain::kError)};
  for (const std::uint16_t limb : limbs) {
    found.push_back(stream_of(kPublicSeed, StreamDomain::kSeededCiphertext, 0, limb));
  }
  return found;
}

/// Draws seeds, and uploads them with the numbers at once.
BatchEncryptor::Part BatchEncryptor::bring(const BatchMessages& messages, MessageRange range,
                                           std::size_t num_streams) const {
  const Ring& ring = context_.ring();
  SecretBuffer<std::uint8_t> drawn(range.count * kSeeds * kBytesOfSeed);
  for (std::size_t i = 0; i < drawn.size(); i += kBytesOfSeed) {
    Hash fresh = seeds_.draw();
    std::copy(fresh.begin(), fresh.end(), drawn.begin() + i);
    wipe(fresh.data(), fresh.size());
  }
  const Word verdict[kVerdictWords] = {};
  const std::span<const std::byte> pieces[] = {std::as_bytes(std::span(verdict)), std::as_bytes(drawn.span()),
                                               messages.numbers(range)};
  const std::size_t numbers = kVerdictWords + drawn.size() / sizeof(Word),
                    keys = even(numbers + pieces[2].size() / sizeof(Word)),
                    work = keys + range.count * num_streams * kSeedWords;
  Part part = {range, {}, numbers, keys, work, num_streams, SecretWords(ring, work + messages.work_words(range.count))};
  for (std::size_t i = 0; secret_ != nullptr && i < range.count; ++i) {
    std::copy_n(drawn.begin() + (i * kSeeds + kPublicSeed) * kBytesOfSeed, kBytesOfSeed,
                part.public_seeds.emplace_back().begin());
  }
  ring.device().upload_secret(ring.queue(), part.words.at(0), pieces);
  return part;
}

std::vector<Ciphertext> BatchEncryptor::encrypt(const BatchMessages& messages, std::size_t most_at_once) const {
  std::vector<Ciphertext> fresh;
  if (messages.count() == 0) return fresh;
  const Ring& ring = context_.ring();
  const LimbList limbs = context_.limbs(messages.label(0).level, Basis::kQ);
  check_security(context_.parameters(), limbs, "ciphertext at " + to_string(messages.label(0).level));
  const std::vector<ItemStream> streams = this->streams(limbs);
  const std::size_t most = std::min(most_at_once, messages_at_once(2 * limbs.size() * ring.stride()));
  const auto range_from = [&](std::size_t first) {
    return MessageRange{first, std::min(most, messages.count() - first)};
  };
  std::optional<QueueNumber> uploads;  // a queue beside, where some are uploaded while others are computed
  std::optional<Part> next(bring(messages, range_from(0), streams.size()));
  while (next) {
    Part part = *std::exchange(next, std::nullopt);
    client_.derive_keys(ring.queue(), part.words.at(part.keys), part.seeds(), part.range.count, kSeeds, streams);
    const RnsPolys made = secret_ != nullptr ? symmetric(messages, part, limbs) : asymmetric(messages, part, limbs);
    const std::size_t end = part.range.first + part.range.count;
    if (end < messages.count()) {
      const QueueScope scope(uploads ? *uploads : uploads.emplace());
      next.emplace(bring(messages, range_from(end), streams.size()));
    }
    Word is_wrong = 0;  // and here the host waits, so that nothing leaves a device that failed
    ring.device().download(ring.queue(), {&is_wrong, part.verdict(), sizeof is_wrong, 1, 0, 0});
    if (is_wrong != 0) messages.refuse();
    for (std::size_t i = 0; i < part.range.count; ++i) {
      const Plaintext label = messages.label(part.range.first + i);
      Ciphertext& x =
          fresh.emplace_back(label_encryption(label, made.part(2 * static_cast<std::uint32_t>(i), 2), key_set_));
      if (secret_ != nullptr) x.seed = SeedRef{part.public_seeds[i], 0};
      if (public_ != nullptr) x.is_unproved |= public_->is_unproved;
    }
  }
  return fresh;
}

// Memory is got before anything secret is written to that of ciphertexts, which is not wiped: from then on nothing may
// throw. Sums of messages and errors are secret until they are added to a product.

RnsPolys BatchEncryptor::symmetric(const BatchMessages& messages, Part& part, const LimbList& limbs) const {
  const Ring& ring = context_.ring();
  const Kernels& kernels = ring.kernels();
  Queue& queue = ring.queue();
  const RnsPolys& minus_secret = secret_->ntt(limbs);
  RnsPolys residues(ring, limbs, static_cast<std::uint32_t>(2 * part.range.count));
  const LimbView c0 = every(residues, 0, 2), c1 = every(residues, 1, 2);
  const ItemIntegers integers =
      messages.integers(part.words.at(part.numbers), part.words.at(part.work), part.range.count, part.verdict());
  const ItemKeys seeds = {part.seeds() + kPublicSeed * kSeedWords, kSeeds};
  client_.expand_streams(queue, c1, {part.key(1), seeds, static_cast<std::uint32_t>(StreamDomain::kSeededCiphertext)});
  client_.import_noisy(queue, c0, integers, part.key(0));
  kernels.ntt(queue, c0, c0);
  kernels.mul_add(queue, c0, c1, minus_secret.view());
  messages.add_to(c0, part.range);
  return residues;
}

RnsPolys BatchEncryptor::asymmetric(const BatchMessages& messages, Part& part, const LimbList& limbs) const {
  const Ring& ring = context_.ring();
  const Kernels& kernels = ring.kernels();
  Queue& queue = ring.queue();
  const auto count = static_cast<std::uint32_t>(part.range.count);
  const auto [special, wide] = PublicKeyLimbs(context_.parameters(), *public_, limbs);
  const std::vector<Word> inverse = ring.inverse_product_mod(special, limbs);
  SecretPolys mask(ring, wide, count), rest(ring, limbs, 2 * count);
  std::optional<SecretPolys> products, plain;
  if (!special.empty()) products.emplace(ring, special, 2 * count);
  if (!messages.numbers(part.range).empty()) plain.emplace(ring, limbs, count);
  RnsPolys key(ring, wide, 2), residues(ring, limbs, 2 * count);
  copy_limbs(ring, key, 0, *public_->b, 0);
  copy_limbs(ring, key, 1, *public_->a, 0);

  client_.sample_ternary(queue, mask->view(), part.key(2));
  kernels.ntt(queue, mask->view(), mask->view());
  const RnsPolys& known = key;
  const std::size_t first = special.size();
  if (products) {
    for (std::uint32_t half = 0; half < 2; ++half) {
      kernels.mul(queue, every(**products, half, 2), mask->view(0, count, 0, 1), known.view(half, 1, 0, 1));
    }
    const LimbView view = (*products)->view();
    kernels.intt(queue, view, view);
    const ConstLimbView coefficients = view;
    client_.import_remainders(queue, rest->view(), &coefficients, part.key(0));
  } else {
    client_.import_remainders(queue, rest->view(), nullptr, part.key(0));
  }
  kernels.ntt(queue, rest->view(), rest->view());
  for (std::uint32_t half = 0; half < 2; ++half) {
    kernels.mul(queue, every(residues, half, 2), mask->view(0, count, first, limbs.size()),
                known.view(half, 1, first, limbs.size()));
  }
  kernels.sub_scale(queue, residues.view(), residues.view(), rest->view(), inverse);
  const LimbView c0 = every(residues, 0, 2);
  if (plain) {
    const ItemIntegers integers =
        messages.integers(part.words.at(part.numbers), part.words.at(part.work), count, part.verdict());
    const LimbView view = (*plain)->view();
    client_.import_messages(queue, view, integers);
    kernels.ntt(queue, view, view);
    kernels.add(queue, c0, c0, view);
  }
  messages.add_to(c0, part.range);
  return residues;
}

}  // namespace lw
