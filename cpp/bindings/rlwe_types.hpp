// Types that the bindings of rlwe and exec share: values that keep their context alive, and conversions.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <complex>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bindings/buffers.hpp"
#include "rlwe/evaluator.hpp"
#include "rlwe/file_source.hpp"

namespace lw {

/// A value and the context it works in, which goes last.
template <typename T>
struct Owned {
  std::shared_ptr<const Context> context;
  T value;
};

using PyCiphertext = Owned<Ciphertext>;
using PyPlaintext = Owned<Plaintext>;
using PyPublicKey = Owned<std::shared_ptr<const PublicKey>>;
using PyEvaluationKeys = Owned<std::shared_ptr<const EvaluationKeys>>;

using LevelPair = std::pair<std::uint32_t, std::uint32_t>;  // (track, index)
inline Level to_level(LevelPair pair) { return {pair.first, pair.second}; }
inline LevelPair to_pair(Level level) { return {level.track, level.index}; }

/// "Q" or "QP".
Basis to_basis(const std::string& name);
const char* basis_name(Basis basis) noexcept;

/// "slots" or "coefficients".
Encoding to_encoding(const std::string& name);
const char* encoding_name(Encoding encoding) noexcept;

/// None: the system's randomness; 32 bytes: an INSECURE seed.
SeedSource to_seed_source(nanobind::handle insecure_seed, const Context& context, const char* who);

/// 16 bytes. Throws lw::Error(kValue) for any other number of them.
KeySetId to_key_set(const nanobind::bytes& bytes);

/// {"kind": kind_name, "galois_element": int, "track": int, "level": int} and back.
KeySpec to_spec(const nanobind::dict& dict);
nanobind::dict spec_dict(const KeySpec& spec);

/// The key of a set that an operation at `level` takes. Throws lw::Error(kMissingKey) if it is not there.
HeldKeys find_key(const Context& context, const PyEvaluationKeys& keys, KeyKind kind, std::uint64_t galois_element,
                  Level level);

/// Anything that NumPy makes a one-dimensional complex128 array of.
std::vector<std::complex<double>> to_complex(nanobind::handle values);

/// Runs f without the GIL.
template <typename F>
auto run_unlocked(F&& f) {
  nanobind::gil_scoped_release released;
  return f();
}

/// An array that owns the values.
template <typename T>
nanobind::ndarray<nanobind::numpy, T, nanobind::ndim<1>> to_array(std::vector<T> values) {
  auto* owned = new std::vector<T>(std::move(values));
  nanobind::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nanobind::ndarray<nanobind::numpy, T, nanobind::ndim<1>>(owned->data(), {owned->size()}, owner);
}

/// A path, or the bytes of an object, as a source to read from; holds the bytes.
struct SourceView {
  explicit SourceView(nanobind::handle object);
  std::optional<BytesView> view;
  Source source;
};
/// The path to save to: None means memory.
std::optional<std::string> optional_path(nanobind::handle object);
/// The Python result of saving: None for a file, bytes for memory.
nanobind::object saved(const std::optional<std::string>& path, const std::vector<std::uint8_t>& bytes);

/// Asks Python for pending signals, and calls `also` unless it is None, at most every 10 ms; throws what they raise.
Tick signal_tick(nanobind::handle also = nanobind::handle(Py_None));

// The parts of bind_rlwe that have files of their own.
void bind_keys(nanobind::module_& m);
void bind_ciphertexts(nanobind::module_& m);
void bind_vector_batches(nanobind::module_& m);
void bind_lazy_files(nanobind::module_& m);
void bind_evaluator(nanobind::module_& m);
void bind_bfv(nanobind::module_& m);
void bind_residues(nanobind::module_& m);

}  // namespace lw
