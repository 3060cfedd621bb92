#include "rlwe/key_generator.hpp"

#include <algorithm>

#include "math/error.hpp"
#include "rlwe/security.hpp"
#include "rlwe/seeded.hpp"

namespace lw {
namespace {

std::uint64_t inverse_galois(std::uint64_t g, std::uint32_t ring_degree) noexcept {
  std::uint64_t inverse = g;  // right to 3 bits for odd g; each step doubles them
  for (int i = 0; i < 5; ++i) inverse *= 2 - g * inverse;
  return inverse & (2ull * ring_degree - 1);
}

/// The secret that a key switches to, over the key's limbs.
SecretPolys target_secret(const Context& context, const SecretKey& secret, const SecretKey& sparse, const KeySpec& spec,
                          const LimbList& limbs) {
  SecretPolys s = (spec.kind == KeyKind::kToSparse ? sparse : secret).ntt(context.ring(), limbs);
  if (spec.kind != KeyKind::kGalois) return s;
  SecretPolys image(context.ring(), limbs, 1);
  context.ring().kernels().automorphism(context.ring().queue(), image->view(), s->view(),
                                        inverse_galois(spec.galois_element, context.degree()));
  return image;
}

/// P times the secret that a key switches from, over Q limbs.
SecretPolys scaled_payload(const Context& context, const SecretKey& secret, const SecretKey& sparse,
                           const KeySpec& spec, const LimbList& q) {
  const Ring& ring = context.ring();
  SecretPolys payload = (spec.kind == KeyKind::kToDense ? sparse : secret).ntt(ring, q);
  if (spec.kind == KeyKind::kRelin) ring.kernels().mul(ring.queue(), payload->view(), payload->view(), payload->view());
  ring.kernels().mul_scalar(ring.queue(), payload->view(), payload->view(),
                            ring.product_mod(special_limbs(spec, context.parameters()), q));
  return payload;
}

/// out = e - a * s with a fresh error e. Both parts are wiped where one of them fails; `out` holds only their
/// difference.
void mask(const Ring& ring, LimbView out, ConstLimbView a, ConstLimbView s, const PrivateSeed& seed,
          std::uint32_t digit) {
  const LimbList limbs(out.limbs.begin(), out.limbs.end());
  const SecretPolys error = to_ntt(ring, sample_error(ring.degree(), seed, digit).span(), limbs);
  SecretPolys product(ring, limbs, 1);
  ring.kernels().mul(ring.queue(), product->view(), a, s);
  ring.kernels().sub(ring.queue(), out, error->view(), product->view());
}

}  // namespace

SecretKey KeyGenerator::secret_key() const {
  const PrivateSeed seed(seeds_);
  const Parameters& parameters = context_.parameters();
  const std::uint32_t n = context_.degree(), weight = parameters.fields().secret_weight;
  const SecretBuffer<std::int64_t> wide = weight != 0 ? sample_sparse(n, weight, seed)
                                          : parameters.has_gaussian_secret()
                                              ? sample_error(n, seed, 0)
                                              : sample_ternary(n, seed, StreamDomain::kSecretKey);
  SecretBuffer<std::int8_t> narrow(wide.size());
  for (std::size_t i = 0; i < wide.size(); ++i) narrow[i] = static_cast<std::int8_t>(wide[i]);
  KeySetId id;
  const Hash random = seeds_.draw();
  std::copy_n(random.begin(), id.size(), id.begin());
  if (seeds_.is_seeded()) std::copy(kInsecureName.begin(), kInsecureName.end(), id.begin());
  return SecretKey(std::move(narrow), id, context_.parameters().fingerprint());
}

PublicKey KeyGenerator::public_key(const SecretKey& secret) const {
  const Parameters& parameters = context_.parameters();
  check_parameters(secret.parameters(), parameters, "the secret key");
  const LimbList limbs = public_key_limbs(parameters);
  check_security(parameters, limbs, "public key");
  const Ring& ring = context_.ring();
  PublicKey key{secret.id(), parameters.fingerprint(), {seeds_.draw(), 0}, nullptr, nullptr};
  RnsPolys a(ring, limbs, 1), b(ring, limbs, 1);
  expand_uniform(ring, a.view(), StreamDomain::kPublicKey, key.seed);
  mask(ring, b.view(), a.view(), secret.ntt(ring, limbs)->view(), PrivateSeed(seeds_), 0);
  key.a = std::make_shared<const RnsPolys>(std::move(a));
  key.b = std::make_shared<const RnsPolys>(std::move(b));
  return key;
}

SecretKey KeyGenerator::sparse_secret(const SecretKey& secret) const {
  const SecretBuffer<std::int64_t> wide = sample_sparse(context_.degree(), kSparseWeight, PrivateSeed(seeds_));
  SecretBuffer<std::int8_t> narrow(wide.size());
  for (std::size_t i = 0; i < wide.size(); ++i) narrow[i] = static_cast<std::int8_t>(wide[i]);
  return SecretKey(std::move(narrow), secret.id(), context_.parameters().fingerprint());
}

EvaluationKey KeyGenerator::evaluation_key(const SecretKey& secret, const SecretKey& sparse, const KeySpec& spec,
                                           const SeedRef& seed) const {
  const Parameters& parameters = context_.parameters();
  const Ring& ring = context_.ring();
  const KeyShape shape = key_shape(spec, parameters);
  const LimbList q = parameters.basis(spec.level), &limbs = shape.limbs;
  EvaluationKey key{spec, secret.id(), seed, shape.digit_numbers(), nullptr, nullptr};
  key.a = std::make_shared<const RnsPolys>(expand_key(ring, limbs, key.digits, seed));

  const SecretPolys target = target_secret(context_, secret, sparse, spec, limbs);
  const SecretPolys payload = scaled_payload(context_, secret, sparse, spec, q);
  const PrivateSeed error_seed(seeds_);
  RnsPolys b(ring, limbs, static_cast<std::uint32_t>(shape.digits.size()));
  for (std::uint32_t d = 0; d < shape.digits.size(); ++d) {
    const LimbView limb = b.view(d, 1, 0, limbs.size());
    mask(ring, limb, key.a->view(d, 1, 0, limbs.size()), target->view(), error_seed, key.digits[d]);
    const std::size_t first = find_runs(q, shape.digits[d].limbs).front().first_in,
                      count = shape.digits[d].limbs.size();
    const LimbView gadget = b.view(d, 1, limbs.size() - q.size() + first, count);
    ring.kernels().add(ring.queue(), gadget, gadget, std::as_const(*payload).view(0, 1, first, count));
  }
  key.b = std::make_shared<const RnsPolys>(std::move(b));
  return key;
}

void check_key_specs(std::span<const KeySpec> specs, const Parameters& parameters) {
  std::size_t to_sparse = 0, to_dense = 0;
  for (const KeySpec& spec : specs) {
    check_spec(spec, parameters);
    const std::string name = describe(spec, parameters.ring_degree()) + " at " + to_string(spec.level);
    (spec.kind == KeyKind::kToSparse ? check_sparse_security : check_security)(parameters,
                                                                               key_shape(spec, parameters).limbs, name);
    to_sparse += spec.kind == KeyKind::kToSparse;
    to_dense += spec.kind == KeyKind::kToDense;
  }
  if (to_sparse > 1 || (to_sparse == 0) != (to_dense == 0)) {
    throw Error(ErrorKind::kValue, "evaluation_keys: " + std::to_string(to_sparse) + " keys to the sparse secret and " +
                                       std::to_string(to_dense) +
                                       " from it; ask for one to it and those from it in one call, for the secret "
                                       "exists only during that call");
  }
}

EvaluationKeys KeyGenerator::evaluation_keys(const SecretKey& secret, std::span<const KeySpec> specs,
                                             const KeyProgress& on_key) const {
  check_parameters(secret.parameters(), context_.parameters(), "the secret key");
  check_key_specs(specs, context_.parameters());
  EvaluationKeys keys(secret.id(), context_.parameters().fingerprint());
  const Hash seed = seeds_.draw();
  const SecretKey sparse = sparse_secret(secret);
  for (std::size_t i = 0; i < specs.size(); ++i) {
    EvaluationKey key = evaluation_key(secret, sparse, specs[i], {seed, i});
    key.b = home_.here(std::move(key.b));
    key.a = home_.here(std::move(key.a));
    keys.add(std::make_shared<EvaluationKey>(std::move(key)));
    if (on_key) on_key(i, specs.size(), specs[i]);
  }
  return keys;
}

void KeyGenerator::write_evaluation_keys(const SecretKey& secret, UnfinishedKeys& file,
                                         const KeyProgress& on_key) const {
  check_parameters(secret.parameters(), context_.parameters(), "the secret key");
  check_parameters(file.parameters(), context_.parameters(), "the unfinished keys");
  check_key_set(secret.id(), file.id(), "the secret key");
  const Hash seed = seeds_.draw();
  const SecretKey sparse = sparse_secret(secret);
  for (std::size_t i = 0; i < file.specs().size(); ++i) {
    const KeySpec& spec = file.specs()[i];
    if (!file.keep(i)) file.write(i, evaluation_key(secret, sparse, spec, {seed, i}));
    if (on_key) on_key(i, file.specs().size(), spec);
  }
  file.commit();
}

}  // namespace lw
