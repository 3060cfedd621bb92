// The wire format that the CBOR encoder and decoder share: initial bytes, and valid text.
#pragma once

#include <cstdint>
#include <string_view>

namespace lw::cbor {

enum MajorType : std::uint8_t { kUnsigned, kNegative, kBytes, kText, kArray, kMap, kTag, kSimple };

// Low five bits of an initial byte from which on the argument follows in 1, 2, 4 or 8 bytes.
inline constexpr std::uint8_t kOneByte = 24, kTwoBytes = 25, kFourBytes = 26, kEightBytes = 27;

// Whole initial bytes of major type 7.
inline constexpr std::uint8_t kFalse = 0xf4, kTrue = 0xf5, kNull = 0xf6, kFloat64 = 0xfb;
inline constexpr std::uint64_t kQuietNan = 0x7ff8000000000000;  // the one NaN there is

/// RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF.
bool is_utf8(std::string_view text) noexcept;

}  // namespace lw::cbor
