#include "rlwe/device_secrets.hpp"

#include <algorithm>
#include <array>

#include "math/error.hpp"

namespace lw {

const ClientKernels& client_kernels(const Context& context) {
  if (const ClientKernels* const client = context.ring().backend().client()) return *client;
  throw Error(ErrorKind::kValue, "the host has no batches of messages: these parameters are not on a device");
}

SecretWords::SecretWords(const Ring& ring, std::size_t words)
    : polys_(ring, {0}, static_cast<std::uint32_t>((words + ring.stride() - 1) / ring.stride())) {}

DeviceSecret::DeviceSecret(const Context& context, const SecretKey& key)
    : ring_(context.ring()), coefficients_(ring_, ring_.degree()) {
  check_parameters(key.parameters(), context.parameters(), "the secret key");
  SecretBuffer<std::int64_t> minus(ring_.degree());
  for (std::size_t i = 0; i < minus.size(); ++i) minus[i] = -std::int64_t{key.coefficients()[i]};
  const std::span<const std::byte> bytes = std::as_bytes(minus.span());
  ring_.device().upload_secret(ring_.queue(), coefficients_.at(0), {&bytes, 1});
}

const RnsPolys& DeviceSecret::ntt(const LimbList& limbs) const {
  const std::lock_guard lock(mutex_);
  const auto found = forms_.find(limbs);
  if (found != forms_.end()) return *found->second;
  SecretPolys form(ring_, limbs, 1);
  ring_.kernels().import_integers(ring_.queue(), form->view(), {coefficients_.at(0), ring_.degree(), false});
  ring_.kernels().ntt(ring_.queue(), form->view(), form->view());
  return *forms_.emplace(limbs, std::move(form)).first->second;
}

std::size_t messages_at_once(std::size_t words_each) noexcept {
  constexpr std::size_t kWords = (std::size_t{64} << 20) / sizeof(Word), kMost = 8192;  // a grid has 65535 polys
  return std::clamp<std::size_t>(kWords / std::max<std::size_t>(words_each, 1), 1, kMost);
}

}  // namespace lw
