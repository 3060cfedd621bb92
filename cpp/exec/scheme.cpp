#include "exec/scheme.hpp"

#include "schemes/bfv/evaluator.hpp"
#include "schemes/ckks/encoder.hpp"
#include "schemes/ckks/mul.hpp"

namespace lw {
namespace {

class Ckks final : public Scheme {
 public:
  Ckks(const Context& context, Tick tick) : encoder_(context), evaluator_(context, std::move(tick)) {}

  std::vector<std::int64_t> round(std::span<const std::complex<double>> values, const ValueType& type) const override {
    return encoder_.round(values, type.scale);
  }
  Plaintext lift(const Integers& rounded, const ValueType& type) const override {
    return encoder_.lift(rounded, type.level, type.scale, type.basis);
  }
  Ciphertext mul(const Ciphertext& a, const Ciphertext& b) const override { return ckks::mul(evaluator_, a, b); }
  Ciphertext square(const Ciphertext& x) const override { return ckks::square(evaluator_, x); }
  Ciphertext dot(std::span<const Ciphertext* const> a, std::span<const Ciphertext* const> b) const override {
    return ckks::dot(evaluator_, a, b);
  }
  Ciphertext mul_relinearize(const Ciphertext& a, const Ciphertext& b, const SwitchKeys& relin) const override {
    return evaluator_.relinearize(mul(a, b), relin);
  }
  Ciphertext add_int(Ciphertext x, std::int64_t addend) const override {
    return evaluator_.add_int(std::move(x), addend);
  }

 private:
  ckks::Encoder encoder_;
  Evaluator evaluator_;
};

class Bfv final : public Scheme {
 public:
  Bfv(const Context& context, Tick tick)
      : modulus_(static_cast<std::int64_t>(context.parameters().fields().plain_modulus)),
        encoder_(context),
        evaluator_(context, std::move(tick)) {}

  std::vector<std::int64_t> round(std::span<const std::complex<double>> values, const ValueType&) const override {
    return encoder_.round(values);
  }
  Plaintext lift(const Integers& rounded, const ValueType& type) const override {
    return type.is_addend ? encoder_.addend(rounded, type.level) : encoder_.factor(rounded, type.level, type.basis);
  }
  Ciphertext mul(const Ciphertext& a, const Ciphertext& b) const override { return evaluator_.mul(a, b); }
  Ciphertext square(const Ciphertext& x) const override { return evaluator_.mul(x, x); }
  Ciphertext dot(std::span<const Ciphertext* const> a, std::span<const Ciphertext* const> b) const override {
    return evaluator_.dot(a, b);
  }
  Ciphertext mul_relinearize(const Ciphertext& a, const Ciphertext& b, const SwitchKeys& relin) const override {
    return evaluator_.mul(a, b, relin);
  }
  Ciphertext add_int(Ciphertext x, std::int64_t addend) const override {
    const std::int64_t rest = addend % modulus_;
    return evaluator_.add_constant(x, static_cast<std::uint64_t>(rest < 0 ? rest + modulus_ : rest));
  }

 private:
  std::int64_t modulus_;
  bfv::Encoder encoder_;
  bfv::Evaluator evaluator_;
};

}  // namespace

std::unique_ptr<const Scheme> make_scheme(const Context& context, Tick tick) {
  if (context.parameters().is_bfv()) return std::make_unique<const Bfv>(context, std::move(tick));
  return std::make_unique<const Ckks>(context, std::move(tick));
}

}  // namespace lw
