// Ciphertexts as files or messages: a fresh symmetric one is a seed and its c0.
#pragma once

#include <string>
#include <vector>

#include "rlwe/file_source.hpp"

namespace lw {

struct NamedCiphertext {
  std::string name;
  Ciphertext value;
};

/// A file's ciphertexts, and the map of whatever else the caller had put into the header.
struct CiphertextFile {
  std::vector<NamedCiphertext> ciphertexts;
  cbor::Map extras;
};

/// All of one key set and over Q. Returns the bytes if there is no path, else nothing.
std::vector<std::uint8_t> save_ciphertexts(const std::optional<std::string>& path, const CiphertextFile& file,
                                           const Context& context);
CiphertextFile load_ciphertexts(const Source& source, const Context& context);

}  // namespace lw
