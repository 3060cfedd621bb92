#include <bit>
#include <cmath>
#include <string>

#include "io/cbor.hpp"
#include "io/cbor_wire.hpp"
#include "math/error.hpp"

namespace lw::cbor {
namespace {

class CborWriter {
 public:
  void value(const Value& v) {
    std::visit([this](const auto& x) { write(x); }, v.storage());
  }
  Bytes take() { return std::move(out_); }

 private:
  void big_endian(std::uint64_t x, int bytes) {
    for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) out_.push_back(static_cast<std::uint8_t>(x >> shift));
  }

  void head(MajorType type, std::uint64_t argument) {
    const auto initial = [this, type](std::uint8_t low) { out_.push_back(static_cast<std::uint8_t>(type << 5 | low)); };
    if (argument < kOneByte) {
      initial(static_cast<std::uint8_t>(argument));
    } else if (argument <= 0xff) {
      initial(kOneByte);
      big_endian(argument, 1);
    } else if (argument <= 0xffff) {
      initial(kTwoBytes);
      big_endian(argument, 2);
    } else if (argument <= 0xffffffff) {
      initial(kFourBytes);
      big_endian(argument, 4);
    } else {
      initial(kEightBytes);
      big_endian(argument, 8);
    }
  }

  void write(std::nullptr_t) { out_.push_back(kNull); }
  void write(bool x) { out_.push_back(x ? kTrue : kFalse); }
  void write(std::uint64_t x) { head(kUnsigned, x); }
  void write(std::int64_t x) { head(kNegative, ~static_cast<std::uint64_t>(x)); }  // -1 - x
  void write(double x) {
    out_.push_back(kFloat64);
    big_endian(std::isnan(x) ? kQuietNan : std::bit_cast<std::uint64_t>(x), 8);
  }
  void write(const Bytes& x) {
    head(kBytes, x.size());
    out_.insert(out_.end(), x.begin(), x.end());
  }
  void write(const std::string& x) {
    if (!is_utf8(x)) throw Error(ErrorKind::kValue, "cbor: a text is not UTF-8; encode it as bytes");
    head(kText, x.size());
    out_.insert(out_.end(), x.begin(), x.end());
  }
  void write(const Array& x) {
    enter();
    head(kArray, x.size());
    for (const Value& item : x) value(item);
    --depth_;
  }
  void write(const Map& x) {
    enter();
    head(kMap, x.size());
    for (const Entry& entry : x) {
      write(entry.key);
      value(entry.value);
    }
    --depth_;
  }
  void enter() {
    if (++depth_ > kMaxDepth) {
      throw Error(ErrorKind::kValue, "cbor: more than " + std::to_string(kMaxDepth) + " arrays and maps are nested");
    }
  }

  Bytes out_;
  std::size_t depth_ = 0;
};

}  // namespace

Bytes encode(const Value& value) {
  CborWriter encoder;
  encoder.value(value);
  return encoder.take();
}

}  // namespace lw::cbor
