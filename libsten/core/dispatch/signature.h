// SPDX-License-Identifier: Apache-2.0
// Signature: operator, input layouts, output formats and device of a call.
#pragma once
#include <string>
#include <vector>

#include "libsten/core/base/device.h"
#include "libsten/core/base/name.h"
#include "libsten/core/dispatch/names.h"
#include "libsten/core/sparsify/sparsifier.h"

namespace sten {

// Inline sparsifier and temporary layout of an output. The `when` of an implementation
// (operators.h) gets none() for unneeded outputs.
struct OutSignature {
  Name inline_by{"keep-all"};
  Name tmp{"dense"};
  bool streaming = true, local = true;  // properties of the sparsifier; unused in patterns

  OutSignature() = default;
  OutSignature(Name inline_by, Name tmp) : inline_by(inline_by), tmp(tmp) {}
  OutSignature(const Sparsifier& inline_by, Name tmp)
      : inline_by(inline_by.name()),
        tmp(tmp),
        streaming(inline_by.kind() == Kind::streaming),
        local(inline_by.is_local()) {}
  // An output that is not needed; matches every pattern.
  static OutSignature none() { return {Name("none"), Name("none")}; }
  bool is_none() const { return *this == none(); }
  bool is_dense() const;
  friend bool operator==(const OutSignature&, const OutSignature&) = default;
};

// How a call is served: by an implementation for these layouts, for others reached by lossless
// conversions, or for dense.
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

// Whether an implementation for `pattern` serves the inputs, and the outputs, of `wanted`.
bool inputs_match(const Signature& pattern, const Signature& wanted);
bool outputs_match(const Signature& pattern, const Signature& wanted);
int wildcards(const Signature& pattern);
// The pattern's name for input i, with `more` resolved; "" if it has none.
Name pattern_input(const Signature& pattern, std::size_t i);

}  // namespace sten
