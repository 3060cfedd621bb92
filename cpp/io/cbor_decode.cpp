#include <algorithm>
#include <bit>
#include <cmath>
#include <string>

#include "io/cbor.hpp"
#include "io/cbor_wire.hpp"
#include "math/error.hpp"

namespace lw::cbor {
namespace {

class Decoder {
 public:
  Decoder(std::span<const std::uint8_t> input, const Limits& limits) : input_(input), limits_(limits) {}

  Value document() {
    Value result = value();
    if (position_ != input_.size()) fail(position_, std::to_string(left()) + " bytes follow the end of the value");
    return result;
  }

 private:
  struct Head {
    std::size_t at;  // position of the initial byte
    std::uint8_t initial;
    std::uint64_t argument;
    MajorType type() const noexcept { return static_cast<MajorType>(initial >> 5); }
  };

  [[noreturn]] static void fail(std::size_t at, const std::string& what) {
    throw Error(ErrorKind::kFormat, "cbor: byte " + std::to_string(at) + ": " + what);
  }

  std::size_t left() const noexcept { return input_.size() - position_; }

  std::span<const std::uint8_t> take(std::size_t at, std::uint64_t bytes) {
    if (bytes > left()) {
      fail(at, std::to_string(bytes) + " bytes are announced, " + std::to_string(left()) + " are left");
    }
    const auto taken = input_.subspan(position_, static_cast<std::size_t>(bytes));
    position_ += taken.size();
    return taken;
  }

  Head head() {
    Head head{position_, 0, 0};
    head.initial = take(position_, 1)[0];
    const std::uint8_t low = head.initial & 31;
    if (low > kEightBytes) fail(head.at, "reserved or indefinite length");
    if (low < kOneByte) {
      head.argument = low;
      return head;
    }
    const int log2_bytes = low - kOneByte;
    for (const std::uint8_t byte : take(head.at, std::uint64_t{1} << log2_bytes)) {
      head.argument = head.argument << 8 | byte;
    }
    constexpr std::uint64_t kSmallest[] = {kOneByte, 1ull << 8, 1ull << 16, 1ull << 32};
    if (head.type() != kSimple && head.argument < kSmallest[log2_bytes]) {
      fail(head.at, "the number " + std::to_string(head.argument) + " is not in its shortest form");
    }
    return head;
  }

  Value value() {
    if (++num_values_ > limits_.max_values) {
      fail(position_, "more than " + std::to_string(limits_.max_values) + " values");
    }
    const Head h = head();
    switch (h.type()) {
      case kUnsigned:
        return h.argument;
      case kNegative:
        if (h.argument >> 63 != 0) fail(h.at, "an integer below -2^63");
        return static_cast<std::int64_t>(~h.argument);
      case kBytes:
        return take(h.at, h.argument);
      case kText:
        return text(h);
      case kArray:
        return array(h);
      case kMap:
        return map(h);
      case kTag:
        fail(h.at, "tags are not used here");
      case kSimple:
        break;
    }
    return simple(h);
  }

  static Value simple(const Head& h) {
    switch (h.initial) {
      case kFalse:
        return false;
      case kTrue:
        return true;
      case kNull:
        return nullptr;
      case kFloat64: {
        const double x = std::bit_cast<double>(h.argument);
        if (std::isnan(x) && h.argument != kQuietNan) fail(h.at, "a NaN other than 7ff8000000000000");
        return x;
      }
      default:
        fail(h.at, "only false, true, null and 64-bit floats are used here");
    }
  }

  std::string text(const Head& h) {
    const auto bytes = take(h.at, h.argument);
    std::string result(bytes.begin(), bytes.end());
    if (!is_utf8(result)) fail(h.at, "a text is not UTF-8");
    return result;
  }

  /// Each item takes at least `bytes_each` bytes, so that a false count is found before any work is done.
  void enter(const Head& h, std::size_t bytes_each) {
    if (h.argument > left() / bytes_each) {
      fail(h.at, std::to_string(h.argument) + " items are announced, " + std::to_string(left()) + " bytes are left");
    }
    if (++depth_ > limits_.max_depth) {
      fail(h.at, "more than " + std::to_string(limits_.max_depth) + " arrays and maps are nested");
    }
  }

  // Nothing is reserved from an announced count: nested false counts would add up to far more than the input.
  Array array(const Head& h) {
    enter(h, 1);
    Array result;
    for (std::uint64_t i = 0; i < h.argument; ++i) result.push_back(value());
    --depth_;
    return result;
  }

  Map map(const Head& h) {
    enter(h, 2);
    Map result;
    std::span<const std::uint8_t> previous;
    for (std::uint64_t i = 0; i < h.argument; ++i) {
      const std::size_t start = position_;
      const Head key_head = head();
      if (key_head.type() != kText) fail(start, "the key of a map is not text");
      std::string key = text(key_head);
      const auto encoded = input_.subspan(start, position_ - start);
      if (i > 0 && !std::lexicographical_compare(previous.begin(), previous.end(), encoded.begin(), encoded.end())) {
        fail(start, "the key \"" + key + "\" is repeated or out of order");
      }
      previous = encoded;
      result.add(std::move(key), value());
    }
    --depth_;
    return result;
  }

  std::span<const std::uint8_t> input_;
  Limits limits_;
  std::size_t position_ = 0;
  std::size_t num_values_ = 0;
  std::size_t depth_ = 0;
};

}  // namespace

Value decode(std::span<const std::uint8_t> input, const Limits& limits) { return Decoder(input, limits).document(); }

}  // namespace lw::cbor
