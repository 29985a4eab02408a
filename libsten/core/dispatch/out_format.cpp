// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/dispatch/out_format.h"

#include "libsten/core/sparsify/same_pattern.h"

namespace sten {

const OutFormat& OutFormat::dense() {
  static const OutFormat format;
  return format;
}

OutFormat OutFormat::same_as(const Tensor& x) {
  if (x.is<Dense>()) return {};
  return fused(SamePattern{}, x.spec());
}

OutFormat OutFormat::fused(Sparsifier by, const Spec& layout) {
  return {std::move(by), layout, keeping_all(), layout};
}

OutFormat OutFormat::after(Sparsifier by, const Spec& layout) {
  return {keeping_all(), Spec("dense"), std::move(by), layout};
}

bool OutFormat::is_dense() const {
  return is_keep_all(inline_by) && tmp.is(Dense::name) && is_keep_all(external) &&
         layout.is(Dense::name);
}

bool OutFormat::is_same_pattern() const {
  static const Name same_pattern(SamePattern::name);
  return inline_by.name() == same_pattern;
}

bool OutFormat::is_additive() const {
  return (is_keep_all(inline_by) || is_same_pattern()) && is_keep_all(external);
}

std::string OutFormat::str() const {
  return fmt::format("{} -> {} -> {} -> {}", inline_by.spec().str(), tmp.str(),
                     external.spec().str(), layout.str());
}

const Formats& Formats::dense() {
  static const Formats formats;
  return formats;
}

}  // namespace sten
