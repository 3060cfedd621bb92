// Keys as files. Public halves are stored as a seed; what is loaded is checked in full.
#pragma once

#include "rlwe/file_source.hpp"

namespace lw {

/// To a file of mode 0600, never to memory: two bits a coefficient.
void save_secret_key(const std::string& path, const SecretKey& key, const Parameters& parameters);
SecretKey load_secret_key(const std::string& path, const Parameters& parameters);

/// Returns the bytes if there is no path, else nothing.
std::vector<std::uint8_t> save_public_key(const std::optional<std::string>& path, const PublicKey& key,
                                          const Context& context);
PublicKey load_public_key(const Source& source, const Context& context);

/// One section per key: the b rows [digit][P limbs, then Q limbs ascending].
std::vector<std::uint8_t> save_evaluation_keys(const std::optional<std::string>& path, const EvaluationKeys& keys,
                                               const Context& context);
EvaluationKeys load_evaluation_keys(const Source& source, const Context& context, const Tick& tick = {});

}  // namespace lw
