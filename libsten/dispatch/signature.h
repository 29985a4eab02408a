// What an operator's implementation is chosen by.
#pragma once
#include <string>
#include <vector>

#include "libsten/base/device.h"
#include "libsten/base/name.h"
#include "libsten/sparsify/sparsifier.h"

namespace sten {

// Names that stand for others where an implementation is registered.
namespace any {
inline constexpr const char* layout = "*";
// Inline sparsifiers: all of them, streaming ones, and those for which rows are enough
// (Sparsifier::is_local).
inline constexpr const char* sparsifier = "*";
inline constexpr const char* streaming = "*streaming";
inline constexpr const char* local = "*local";
// As the last input or output: any number of such as stand before it, none too.
inline constexpr const char* more = "...";
}  // namespace any

// How one output is written: by which inline sparsifier, in which temporary layout. A `when` of an
// implementation (operators.h) meets none() too.
struct OutSignature {
  Name inline_by{"keep-all"};
  Name tmp{"dense"};
  bool streaming = true, local = true;  // what kind of sparsifier it is; not of one in a pattern

  OutSignature() = default;
  OutSignature(Name inline_by, Name tmp) : inline_by(inline_by), tmp(tmp) {}
  OutSignature(const Sparsifier& inline_by, Name tmp)
      : inline_by(inline_by.name()),
        tmp(tmp),
        streaming(inline_by.kind() == Kind::streaming),
        local(inline_by.is_local()) {}
  // Of an output that nobody wants: every pattern serves it.
  static OutSignature none() { return {Name("none"), Name("none")}; }
  bool is_none() const { return *this == none(); }
  bool is_dense() const;
  friend bool operator==(const OutSignature&, const OutSignature&) = default;
};

// How an implementation is found: for these layouts; for others, to which there are routes without// loss; for dense.
enum class DispatchKind { exact, converted, dense };
using Way [[deprecated("DispatchKind")]] = DispatchKind;

struct Signature {
  Name op;
  std::vector<Name> in;  // layouts
  std::vector<OutSignature> out{{}};
  Device device = Device::cpu;

  // "matmul(csr, dense) -> keep-all/dense"
  std::string str() const;
  friend bool operator==(const Signature&, const Signature&) = default;
};

// Whether what is registered for `pattern` serves `wanted`: its inputs, its outputs.
bool inputs_match(const Signature& pattern, const Signature& wanted);
bool outputs_match(const Signature& pattern, const Signature& wanted);
// How many inputs and outputs of a pattern stand for more than one name.
int wildcards(const Signature& pattern);
// The pattern's name for input i, `more` resolved; "" without one.
Name pattern_input(const Signature& pattern, std::size_t i);

}  // namespace sten
