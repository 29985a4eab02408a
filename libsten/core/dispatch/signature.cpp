// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/dispatch/signature.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "libsten/core/dispatch/names.h"

namespace sten {
namespace {

using names::any_layout, names::dense, names::keep_all;
const Name more(any::more), any_sparsifier(any::sparsifier), any_streaming(any::streaming),
    any_local(any::local);

bool has_more(const std::vector<Name>& in) { return !in.empty() && in.back() == more; }
bool has_more(const std::vector<OutSignature>& out) {
  return !out.empty() && out.back().tmp == more;
}

// The pattern's entry for argument i; nullptr if it has none.
template <class T>
const T* entry(const std::vector<T>& pattern, std::size_t i) {
  if (!has_more(pattern)) return i < pattern.size() ? &pattern[i] : nullptr;
  const std::size_t fixed = pattern.size() - 1;
  return fixed == 0 ? nullptr : &pattern[std::min(i, fixed - 1)];
}

// Whether the pattern matches `count` arguments; `more` allows zero repetitions.
template <class T>
bool counts(const std::vector<T>& pattern, std::size_t count) {
  return has_more(pattern) ? count + 2 >= pattern.size() : count == pattern.size();
}

bool serves(const OutSignature& p, const OutSignature& w) {
  if (w.is_none()) return true;
  const bool sparsifier = p.inline_by == w.inline_by || p.inline_by == any_sparsifier ||
                          (p.inline_by == any_streaming && w.streaming) ||
                          (p.inline_by == any_local && w.local);
  return sparsifier && (p.tmp == w.tmp || p.tmp == any_layout);
}

}  // namespace

bool OutSignature::is_dense() const { return inline_by == keep_all && tmp == dense; }

std::string Signature::str() const {
  std::vector<std::string> ins, outs;
  for (const Name n : in) ins.emplace_back(n.text());
  for (const OutSignature& o : out)
    outs.push_back(o.is_none() ? "none" : fmt::format("{}/{}", o.inline_by.text(), o.tmp.text()));
  return fmt::format("{}({}) -> {}{}", op.text(), fmt::join(ins, ", "), fmt::join(outs, ", "),
                     device == Device::cpu ? "" : fmt::format(" on {}", name_of(device)));
}

bool inputs_match(const Signature& pattern, const Signature& wanted) {
  // At least one input is needed.
  if (!counts(pattern.in, wanted.in.size()) || (wanted.in.empty() && !pattern.in.empty()))
    return false;
  for (std::size_t i = 0; i < wanted.in.size(); ++i) {
    const Name p = *entry(pattern.in, i);
    if (p != wanted.in[i] && p != any_layout) return false;
  }
  return true;
}

bool outputs_match(const Signature& pattern, const Signature& wanted) {
  if (!counts(pattern.out, wanted.out.size())) return false;
  for (std::size_t i = 0; i < wanted.out.size(); ++i)
    if (!serves(*entry(pattern.out, i), wanted.out[i])) return false;
  return true;
}

int wildcards(const Signature& pattern) {
  int n = 0;
  for (const Name p : pattern.in) n += p == any_layout || p == more;
  for (const OutSignature& o : pattern.out) {
    n += o.tmp == any_layout || o.tmp == more;
    // Narrower kinds of sparsifiers take precedence.
    n += o.inline_by == any_streaming ? 1 : o.inline_by == any_local ? 2 : 0;
    n += o.inline_by == any_sparsifier ? 3 : 0;
  }
  return n;
}

Name pattern_input(const Signature& pattern, std::size_t i) {
  if (!has_more(pattern.in) && i >= pattern.in.size()) return {};
  const Name* p = entry(pattern.in, i);
  return p ? *p : Name();
}

}  // namespace sten
