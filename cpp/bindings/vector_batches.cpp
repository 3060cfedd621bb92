// Encoding, encryption and decryption of many messages on a device, in Python.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/vector.h>

#include "bindings/ring_arrays.hpp"
#include "bindings/rlwe_types.hpp"
#include "schemes/ckks/batch_encoder.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace lw {
namespace {

using SharedContext = std::shared_ptr<const Context>;
/// float64 numbers of each message: its slots, or pairs of their parts, [message][number].
using Numbers = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

ckks::SlotVectors to_vectors(const Numbers& numbers, bool is_real) {
  const std::size_t each = numbers.shape(1);
  return {{numbers.data(), numbers.size()}, numbers.shape(0), is_real ? each : each / 2, is_real};
}

template <class T>
std::vector<Owned<T>> owned(const SharedContext& context, std::vector<T> values) {
  std::vector<Owned<T>> found;
  for (T& value : values) found.push_back({context, std::move(value)});
  return found;
}

/// An encoder on a device, with what encrypts there and what decrypts there, if they were asked for.
class DeviceClient {
 public:
  explicit DeviceClient(SharedContext context) : context_(std::move(context)), encoder_(*context_) {}

  std::vector<PyPlaintext> encode(const Numbers& numbers, bool is_real, LevelPair level, double scale) const {
    const ckks::SlotVectors vectors = to_vectors(numbers, is_real);
    return owned(context_, run_unlocked([&] { return encoder_.encode(vectors, to_level(level), scale); }));
  }
  const SharedContext& context() const noexcept { return context_; }
  const ckks::BatchEncoder& encoder() const noexcept { return encoder_; }

 private:
  SharedContext context_;
  ckks::BatchEncoder encoder_;
};

template <class Key>
std::unique_ptr<BatchEncryptor> make_encryptor(const SharedContext& context, std::shared_ptr<const Key> key,
                                               nb::handle seed) {
  SeedSource seeds = to_seed_source(seed, *context, "Encryptor");
  return run_unlocked([&] { return std::make_unique<BatchEncryptor>(*context, std::move(key), std::move(seeds)); });
}

/// Messages of vectors of one length, or plaintexts, encrypted at once.
struct PyBatchEncryptor {
  SharedContext context;
  std::unique_ptr<BatchEncryptor> core;

  std::vector<PyCiphertext> encrypt(const DeviceClient& client, const Numbers& numbers, bool is_real, LevelPair level,
                                    double scale, std::size_t most_at_once) const {
    const ckks::SlotVectors vectors = to_vectors(numbers, is_real);
    return owned(context, run_unlocked([&] {
                   return core->encrypt(*client.encoder().messages(vectors, to_level(level), scale), most_at_once);
                 }));
  }
  std::vector<PyCiphertext> encrypt_plaintexts(const std::vector<PyPlaintext>& plaintexts) const {
    std::vector<Plaintext> values;
    for (const PyPlaintext& x : plaintexts) values.push_back(x.value);
    return owned(context, run_unlocked([&] { return core->encrypt(PlaintextMessages(*context, std::move(values))); }));
  }
};

struct PyBatchDecryptor {
  SharedContext context;
  std::unique_ptr<BatchDecryptor> core;

  /// float64 of shape (ciphertexts, slots), or (ciphertexts, 2 slots) of their parts in turn.
  nb::object decrypt(const DeviceClient& client, const std::vector<PyCiphertext>& ciphertexts, bool is_real) const {
    std::vector<Ciphertext> values;
    for (const PyCiphertext& x : ciphertexts) values.push_back(x.value);
    auto* const found =
        new std::vector<double>(run_unlocked([&] { return client.encoder().decrypt(*core, values, is_real); }));
    nb::capsule owner(found, [](void* p) noexcept { delete static_cast<std::vector<double>*>(p); });
    const std::size_t rows = values.size(), columns = rows == 0 ? 0 : found->size() / rows;
    return nb::cast(nb::ndarray<nb::numpy, double, nb::ndim<2>>(found->data(), {rows, columns}, owner));
  }
};

}  // namespace

void bind_vector_batches(nb::module_& m) {
  nb::class_<DeviceClient>(m, "DeviceEncoder", "Encodes on a device, for vectors of CKKS.")
      .def(nb::init<SharedContext>(), "context"_a)
      .def("encode", &DeviceClient::encode, "numbers"_a, "is_real"_a, "level"_a, "scale"_a,
           "Plaintexts of float64 numbers (messages, slots), or of pairs of parts (messages, 2 slots).");
  nb::class_<PyBatchEncryptor>(m, "DeviceEncryptor", "Encrypts on a device; a SecretKey is uploaded.")
      .def(
          "__init__",
          [](PyBatchEncryptor* self, SharedContext context, std::shared_ptr<const SecretKey> key, nb::handle seed) {
            auto core = make_encryptor(context, std::move(key), seed);
            new (self) PyBatchEncryptor{std::move(context), std::move(core)};
          },
          "context"_a, "key"_a, "insecure_seed"_a.none() = nb::none())
      .def(
          "__init__",
          [](PyBatchEncryptor* self, SharedContext context, const PyPublicKey& key, nb::handle seed) {
            auto core = make_encryptor(context, key.value, seed);
            new (self) PyBatchEncryptor{std::move(context), std::move(core)};
          },
          "context"_a, "key"_a, "insecure_seed"_a.none() = nb::none())
      .def("encrypt", &PyBatchEncryptor::encrypt, "encoder"_a, "numbers"_a, "is_real"_a, "level"_a, "scale"_a,
           "most_at_once"_a = SIZE_MAX, "Ciphertexts of numbers as a DeviceEncoder takes them.")
      .def("encrypt_plaintexts", &PyBatchEncryptor::encrypt_plaintexts, "plaintexts"_a);
  nb::class_<PyBatchDecryptor>(m, "DeviceDecryptor", "Decrypts on a device, to which it uploads the secret key.")
      .def(
          "__init__",
          [](PyBatchDecryptor* self, SharedContext context, const SecretKey& key) {
            auto core = run_unlocked([&] { return std::make_unique<BatchDecryptor>(*context, key); });
            new (self) PyBatchDecryptor{std::move(context), std::move(core)};
          },
          "context"_a, "secret_key"_a)
      .def("decrypt", &PyBatchDecryptor::decrypt, "encoder"_a, "ciphertexts"_a, "is_real"_a,
           "Slots of ciphertexts of one degree and as many slots, float64, in the order of the ciphertexts.");
}

}  // namespace lw
