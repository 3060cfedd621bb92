/// OpenFHE through an installation of the user's, as a worker: one JSON object a line in, one out
/// (workers/protocol.py).
///
///     openfhe_native ckks LOG2_DEGREE LIMBS SCALE_BITS FIRST_BITS DIGITS
///     openfhe_native boot LOG2_DEGREE real|complex stc-first|modraise-first LEVELS CTS_BUDGET STC_BUDGET DIGITS
///
/// LEVELS are those that products may spend between a bootstrap and the next one. The security check is off, so that
/// all libraries run the same sizes; log2 QP is among the facts.
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <complex>
#include <cstdint>
#include <ctime>
#include <functional>
#include <iomanip>
#include <iostream>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "openfhe.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace {

using Ciphertext = lbcrypto::Ciphertext<lbcrypto::DCRTPoly>;
using Context = lbcrypto::CryptoContext<lbcrypto::DCRTPoly>;
using Values = std::vector<std::complex<double>>;
using Facts = std::map<std::string, std::string>;  // name -> JSON

/// Of this process; the system counts in KiB.
double peak_bytes() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return 1024.0 * static_cast<double>(used.ru_maxrss);
}

/// Real parts, and where they are wanted imaginary ones, in [-1, 1].
Values slots_vector(std::size_t slots, bool is_complex) {
  std::mt19937_64 random(20);
  std::uniform_real_distribution<double> uniform(-1.0, 1.0);
  Values values(slots);
  for (auto& value : values) {
    const double real = uniform(random);
    value = {real, is_complex ? uniform(random) : 0.0};
  }
  return values;
}

/// The values that slot i + steps of a vector has.
Values rolled(const Values& values, std::size_t steps) {
  Values turned = values;
  std::rotate(turned.begin(), turned.begin() + static_cast<std::ptrdiff_t>(steps), turned.end());
  return turned;
}

std::string quoted(const std::string& text) {
  std::string made = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') made += '\\';
    made += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  return made + '"';
}

std::string number(double value) {
  std::ostringstream text;
  text << std::setprecision(12) << value;
  return text.str();
}

/// Something to time, and the largest error of what it returned last.
struct Operation {
  std::function<void()> run;
  std::function<double()> error;
};

struct Session {
  Facts facts;
  std::map<std::string, std::function<Operation()>> makers;  // keys that an operation needs are made with it
  std::map<std::string, std::function<double()>> values;
};

/// A context with its keys, and what both sessions do with it.
struct Library {
  Context context;
  lbcrypto::KeyPair<lbcrypto::DCRTPoly> keys;
  std::size_t slots;
  bool is_complex;

  Library(const lbcrypto::CCParams<lbcrypto::CryptoContextCKKSRNS>& parameters, bool bootstraps, bool complex_slots)
      : context(lbcrypto::GenCryptoContext(parameters)), slots(parameters.GetRingDim() / 2), is_complex(complex_slots) {
    for (const auto feature : {lbcrypto::PKE, lbcrypto::KEYSWITCH, lbcrypto::LEVELEDSHE, lbcrypto::ADVANCEDSHE}) {
      context->Enable(feature);
    }
    if (bootstraps) context->Enable(lbcrypto::FHE);
  }

  void make_keys() {
    keys = context->KeyGen();
    context->EvalMultKeyGen(keys.secretKey);
  }

  std::shared_ptr<lbcrypto::CryptoParametersCKKSRNS> parameters() const {
    return std::dynamic_pointer_cast<lbcrypto::CryptoParametersCKKSRNS>(context->GetCryptoParameters());
  }

  /// Bytes of one key for switching: two polynomials for each digit, over Q and P.
  double key_bytes() const {
    const auto p = parameters();
    const auto limbs = p->GetElementParams()->GetParams().size() + p->GetParamsP()->GetParams().size();
    return 8.0 * 2.0 * p->GetNumPartQ() * static_cast<double>(limbs) * static_cast<double>(2 * slots);
  }

  Facts facts() const {
    const auto p = parameters();
    const double log2_q = p->GetElementParams()->GetModulus().GetMSB(), log2_p = p->GetParamsP()->GetModulus().GetMSB();
    return {
        {"log2_degree", number(std::log2(2 * slots))},
        {"limbs", number(static_cast<double>(p->GetElementParams()->GetParams().size()))},
        {"digits", number(p->GetNumPartQ())},
        {"special_limbs", number(static_cast<double>(p->GetParamsP()->GetParams().size()))},
        {"log2_q", number(log2_q)},
        {"log2_qp", number(log2_q + log2_p)},
    };
  }

  Ciphertext encrypt(const Values& values, std::uint32_t level = 0) const {
    return context->Encrypt(keys.publicKey, context->MakeCKKSPackedPlaintext(values, 1, level, nullptr, slots));
  }

  Values decrypt(const Ciphertext& cipher) const {
    lbcrypto::Plaintext plain;
    context->Decrypt(keys.secretKey, cipher, &plain);
    plain->SetLength(slots);
    return plain->GetCKKSPackedValue();
  }

  /// -log2 of the errors of the parts that carry values: root mean square, and largest.
  std::pair<double, double> precision(const Ciphertext& cipher, const Values& expected) const {
    const Values found = decrypt(cipher);
    double squares = 0.0, largest = 0.0;
    for (std::size_t i = 0; i < slots; ++i) {
      const std::complex<double> error = found[i] - expected[i];
      squares += is_complex ? std::norm(error) : error.real() * error.real();
      largest = std::max({largest, std::abs(error.real()), is_complex ? std::abs(error.imag()) : 0.0});
    }
    const double parts = static_cast<double>(is_complex ? 2 * slots : slots);
    return {-std::log2(std::sqrt(squares / parts)), -std::log2(largest)};
  }

  double largest_error(const Ciphertext& cipher, const Values& expected) const {
    return std::exp2(-precision(cipher, expected).second);
  }
};

std::uint32_t whole(const std::string& text) { return static_cast<std::uint32_t>(std::stoul(text)); }

/// One CKKS set: full packing, manual rescaling, hybrid key switching.
Session ckks_session(const std::vector<std::string>& given) {
  lbcrypto::CCParams<lbcrypto::CryptoContextCKKSRNS> p;
  p.SetRingDim(1U << whole(given.at(1)));
  p.SetMultiplicativeDepth(whole(given.at(2)) - 1);
  p.SetScalingModSize(whole(given.at(3)));
  p.SetFirstModSize(whole(given.at(4)));
  p.SetNumLargeDigits(whole(given.at(5)));
  p.SetScalingTechnique(lbcrypto::FIXEDMANUAL);
  p.SetKeySwitchTechnique(lbcrypto::HYBRID);
  p.SetSecurityLevel(lbcrypto::HEStd_NotSet);
  const auto library = std::make_shared<Library>(p, false, false);
  library->make_keys();
  const Values x = slots_vector(library->slots, false);
  const auto plain = library->context->MakeCKKSPackedPlaintext(x, 1, 0, nullptr, library->slots);
  const Ciphertext cipher = library->encrypt(x), square = library->context->EvalMult(cipher, cipher);
  Values squares(x.size()), doubled(x.size());
  std::transform(x.begin(), x.end(), squares.begin(), [](const auto& value) { return value * value; });
  std::transform(x.begin(), x.end(), doubled.begin(), [](const auto& value) { return 2.0 * value; });

  Session session{library->facts(), {}, {}};
  const auto offer = [&](const std::string& name, const std::function<Ciphertext()>& run, const Values& expected,
                         const std::vector<std::int32_t>& steps = {}) {
    session.makers[name] = [=] {
      if (!steps.empty()) library->context->EvalRotateKeyGen(library->keys.secretKey, steps);
      const auto result = std::make_shared<Ciphertext>();
      return Operation{[=] { *result = run(); }, [=] { return library->largest_error(*result, expected); }};
    };
  };
  const Context cc = library->context;
  offer("add", [=] { return cc->EvalAdd(cipher, cipher); }, doubled);
  offer("mul_plain", [=] { return cc->EvalMult(cipher, plain); }, squares);
  offer("rescale", [=] { return cc->Rescale(square); }, squares);
  offer("mul_relin", [=] { return cc->EvalMult(cipher, cipher); }, squares);
  offer("mul_relin_rescale", [=] { return cc->Rescale(cc->EvalMult(cipher, cipher)); }, squares);
  offer("rotate", [=] { return cc->EvalRotate(cipher, 1); }, rolled(x, 1), {1});
  session.makers["rotate_8_hoisted"] = [=] {
    std::vector<std::int32_t> steps(8);
    for (int i = 0; i < 8; ++i) steps[i] = i + 1;
    cc->EvalRotateKeyGen(library->keys.secretKey, steps);
    const auto results = std::make_shared<std::vector<Ciphertext>>(steps.size());
    const auto run = [=] {
      const auto digits = cc->EvalFastRotationPrecompute(cipher);
      for (std::size_t i = 0; i < steps.size(); ++i) {
        (*results)[i] = cc->EvalFastRotation(cipher, steps[i], cc->GetCyclotomicOrder(), digits);
      }
    };
    const auto error = [=] {
      double largest = 0.0;
      for (std::size_t i = 0; i < steps.size(); ++i) {
        largest = std::max(largest, library->largest_error((*results)[i], rolled(x, i + 1)));
      }
      return largest;
    };
    return Operation{run, error};
  };
  session.values["key_bytes"] = [=] { return library->key_bytes(); };
  return session;
}

/// Bootstraps of all slots, of a ciphertext at the level at which the next bootstrap takes it.
Session boot_session(const std::vector<std::string>& given) {
  const bool is_complex = given.at(2) == "complex", stc_first = given.at(3) == "stc-first";
  const std::uint32_t levels = whole(given.at(4)), cts = whole(given.at(5)), stc = whole(given.at(6));
  const std::uint32_t digits = whole(given.at(7)), scale_bits = 59;
  lbcrypto::CCParams<lbcrypto::CryptoContextCKKSRNS> p;
  p.SetSecretKeyDist(lbcrypto::SPARSE_ENCAPSULATED);
  p.SetSecurityLevel(lbcrypto::HEStd_NotSet);
  p.SetRingDim(1U << whole(given.at(1)));
  p.SetScalingModSize(scale_bits);
  p.SetFirstModSize(60);
  p.SetScalingTechnique(lbcrypto::FLEXIBLEAUTO);
  p.SetNumLargeDigits(digits);
  p.SetCKKSDataType(is_complex ? lbcrypto::COMPLEX : lbcrypto::REAL);
  // One level more than the products spend: ModRaise adjusts the scale with it. With SlotsToCoeff first its levels are
  // below, where the next bootstrap finds them; else the depth of a bootstrap has them.
  const std::uint32_t below = stc_first ? stc : 0, within = stc_first ? 0 : stc;
  const std::uint32_t depth =
      levels + 1 + below + lbcrypto::FHECKKSRNS::GetBootstrapDepth({cts, within}, lbcrypto::SPARSE_ENCAPSULATED);
  p.SetMultiplicativeDepth(depth);
  const auto library = std::make_shared<Library>(p, true, is_complex);
  const Context cc = library->context;
  cc->EvalBootstrapSetup({cts, stc}, {0, 0}, static_cast<std::uint32_t>(library->slots), 0, true, stc_first);
  library->make_keys();
  cc->EvalBootstrapKeyGen(library->keys.secretKey, static_cast<std::uint32_t>(library->slots));
  const std::uint32_t floor = depth - 1 - below;
  const Values x = slots_vector(library->slots, is_complex);
  const Ciphertext cipher = library->encrypt(x, floor);
  const auto result = std::make_shared<Ciphertext>();

  Session session{library->facts(), {}, {}};
  session.facts["order"] = quoted(stc_first ? "SlotsToCoeff first" : "ModRaise first");
  session.facts["settings"] = quoted(given.at(2) + " slots, level budget " + given.at(5) + " and " + given.at(6) +
                                     ", FLEXIBLEAUTO, scale 2^59, sparse secret encapsulated");
  session.makers["bootstrap"] = [=] {
    return Operation{[=] { *result = cc->EvalBootstrap(cipher); }, [=] { return library->largest_error(*result, x); }};
  };
  const auto all_key_bytes = [=] {
    const auto turns = cc->GetExistingEvalAutomorphismKeyIndices(library->keys.secretKey->GetKeyTag());
    return static_cast<double>(turns.size() + 1) * library->key_bytes();  // and the one for products
  };
  session.values = {
      {"rms_bits", [=] { return library->precision(*result, x).first; }},
      {"worst_bits", [=] { return library->precision(*result, x).second; }},
      {"peak_bytes", peak_bytes},
      {"levels_left",
       [=] {  // a product that is not rescaled yet will spend a level
         return static_cast<double>(floor) - static_cast<double>((*result)->GetLevel()) -
                static_cast<double>((*result)->GetNoiseScaleDeg() - 1);
       }},
      {"level_bits", [=] { return static_cast<double>(scale_bits); }},
      {"key_bytes", all_key_bytes},
      {"key_memory_bytes", all_key_bytes},
  };
  return session;
}

/// The value of a name in a flat JSON object, without quotes; empty if it is not there.
std::string field(const std::string& line, const std::string& name) {
  const auto key = line.find("\"" + name + "\":");
  if (key == std::string::npos) return "";
  const auto start = line.find_first_not_of(" \"", key + name.size() + 3);
  return line.substr(start, line.find_first_of("\",}", start) - start);
}

double seconds_of_process() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

std::string joined(const std::vector<double>& values) {
  std::string text;
  for (const double value : values) text += (text.empty() ? "" : ", ") + number(value);
  return "[" + text + "]";
}

/// Wall and processor seconds of runs one after the other.
std::string timed(const Operation& operation, double seconds, std::size_t least, std::size_t most) {
  using Clock = std::chrono::steady_clock;
  const auto since = [](Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  std::vector<double> wall, cpu;
  const auto start = Clock::now();
  while (wall.size() < least || (since(start) < seconds && wall.size() < most)) {
    const auto begin = Clock::now();
    const double used = seconds_of_process();
    operation.run();
    cpu.push_back(seconds_of_process() - used);
    wall.push_back(since(begin));
  }
  return "{\"wall\": " + joined(wall) + ", \"cpu\": " + joined(cpu) + "}";
}

std::string answer(Session& session, std::map<std::string, Operation>& ready, const std::string& line) {
  const std::string value = field(line, "value"), check = field(line, "check"), name = field(line, "op") + check;
  if (!value.empty() && session.values.find(value) == session.values.end()) {
    throw std::out_of_range("no value " + value);
  }
  if (!value.empty()) return "{\"value\": " + number(session.values.at(value)()) + "}";
  if (session.makers.find(name) == session.makers.end()) throw std::out_of_range("no operation " + name);
  if (ready.find(name) == ready.end()) {
    const Operation made = session.makers.at(name)();
    made.run();  // the first run, which is not timed
    ready[name] = made;
  }
  const Operation& operation = ready.at(name);
  if (!check.empty()) return "{\"error\": " + number(operation.error()) + "}";
  return timed(operation, std::stod(field(line, "seconds")), std::stoul(field(line, "least")),
               std::stoul(field(line, "most")));
}

}  // namespace

int main(int count, char** words) {
#ifdef __GLIBC__  // freed memory stays with the process, as ours does: else large products pay for pages again and
                  // again
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
#endif
  const std::vector<std::string> given(words + 1, words + count);
  std::ostream answers(std::cout.rdbuf());
  std::cout.rdbuf(std::cerr.rdbuf());  // what the library prints goes there
  try {
    Session session = given.at(0) == "boot" ? boot_session(given) : ckks_session(given);
    std::string facts, names;
    for (const auto& [name, fact] : session.facts) facts += (facts.empty() ? "" : ", ") + quoted(name) + ": " + fact;
    for (const auto& item : session.makers) names += (names.empty() ? "" : ", ") + quoted(item.first);
    for (const auto& item : session.values) names += (names.empty() ? "" : ", ") + quoted(item.first);
    answers << "{\"facts\": {" << facts << "}, \"operations\": [" << names << "]}" << std::endl;
    std::map<std::string, Operation> ready;
    for (std::string line; std::getline(std::cin, line);) {
      try {
        answers << answer(session, ready, line) << std::endl;
      } catch (const std::exception& error) {  // the other side goes on with the next operation
        answers << "{\"failed\": " << quoted(error.what()) << "}" << std::endl;
      }
    }
  } catch (const std::exception& error) {
    std::cerr << error.what() << std::endl;
    return 1;
  }
  return 0;
}
