// SPDX-License-Identifier: Apache-2.0
// References of the built-in sparsifiers: each is written from the sparsifier's rule, without the
// library's views, kernels or threads, and stands in the sparsifier's own test. For finite values.
#pragma once
#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <vector>

#include "libsten/core/sparsify/sparsifier.h"
#include "tests/support/parts.h"

namespace sten::testing {

inline std::vector<double> numbers(const Dense& x) {
  std::vector<double> v(x.size());
  with_float(x.dtype(), [&]<class E>(E) {
    const auto bits = x.values.as<typename E::Bits>();
    for (Index i = 0; i < x.size(); ++i) v[i] = E::decode(bits[i]);
  });
  return v;
}

// Keeps all but the `drop` smallest; among equals the later one is dropped first.
inline std::vector<bool> all_but_smallest(const std::vector<double>& rank, Index drop) {
  std::vector<Index> order(rank.size());
  std::iota(order.begin(), order.end(), Index{0});
  std::sort(order.begin(), order.end(),
            [&](Index a, Index b) { return rank[a] != rank[b] ? rank[a] < rank[b] : a > b; });
  std::vector<bool> keep(rank.size(), true);
  for (Index i = 0; i < drop; ++i) keep[order[i]] = false;
  return keep;
}

// [batch][row][column] -> offset: the matrix view of a tensor (docs/formats.md).
using Matrices = std::vector<std::vector<std::vector<Index>>>;
inline Matrices matrices(const Shape& shape, const Spec& spec, bool transposed) {
  const auto rank = static_cast<Index>(shape.size());
  Index row = 0, col = -1;
  if (spec.has("dims")) {
    const std::string dims(spec.word("dims", ""));
    row = dims[0] - '0';
    col = dims[2] - '0';
  }
  const auto is_batch = [&](Index d) { return col >= 0 && d != row && d != col; };
  Index batches = 1, rows = shape[row], cols = 1;
  for (Index d = 0; d < rank; ++d) {
    if (is_batch(d)) batches *= shape[d];
    if (d != row && !is_batch(d)) cols *= shape[d];
  }
  if (transposed) std::swap(rows, cols);
  Matrices all(batches, {static_cast<std::size_t>(rows), std::vector<Index>(cols)});
  for (Index i = 0; i < size_of(shape); ++i) {
    Index b = 0, r = 0, c = 0, below = size_of(shape);
    for (Index d = 0; d < rank; ++d) {
      below /= shape[d];
      const Index at = i / below % shape[d];
      if (is_batch(d))
        b = b * shape[d] + at;
      else if (d == row)
        r = at;
      else
        c = c * shape[d] + at;
    }
    if (transposed) std::swap(r, c);
    all[b][r][c] = i;
  }
  return all;
}

// The arguments of a selection, with the numbers of its tensors.
struct Selection {
  const Spec& spec;
  const Dense& x;
  const Hints& hints;
  std::vector<double> values = numbers(x);
  std::vector<double> scores = hints.scores ? numbers(*hints.scores) : std::vector<double>();

  Mask keep_if(const std::function<bool(Index)>& keep) const {
    Mask mask = Mask::none(x.extents);
    for (Index i = 0; i < x.size(); ++i) mask.set(i, keep(i));
    return mask;
  }
  // Prunes the key `sparsity` of the elements.
  Mask keep_largest(const std::vector<double>& rank) const {
    const auto keep = all_but_smallest(rank, pruned_of(std::ssize(rank)));
    return keep_if([&](Index i) { return keep[i]; });
  }
  Index pruned_of(Index count) const {
    return std::llround(spec.number("sparsity") * static_cast<double>(count));
  }
};

struct SparsifierReference {
  Kind kind;
  std::function<Mask(const Selection&)> mask;
  // If several masks are valid: the error in a mask, "" if it is valid. No value: compare with
  // mask().
  std::function<std::optional<std::string>(const Mask&, const Selection&)> fault;
};

// By the sparsifier's name.
inline std::map<std::string, SparsifierReference>& sparsifier_references() {
  static std::map<std::string, SparsifierReference> all;
  return all;
}

// For namespace scope of a sparsifier's test; the laws of tests/laws/ then use the reference.
inline bool add_reference(const std::string& sparsifier, Kind kind,
                          decltype(SparsifierReference::mask) mask,
                          decltype(SparsifierReference::fault) fault = nullptr) {
  return sparsifier_references()
      .emplace(sparsifier, SparsifierReference{kind, std::move(mask), std::move(fault)})
      .second;
}

inline const SparsifierReference& reference_of(const std::string& sparsifier) {
  const auto at = sparsifier_references().find(sparsifier);
  if (at == sparsifier_references().end())
    fail("{}: a test must call add_reference() (tests/support/sparsifier_reference.h)", sparsifier);
  return at->second;
}

inline Mask reference_mask(const Spec& spec, const Dense& x, const Hints& hints = {}) {
  return reference_of(spec.name()).mask({spec, x, hints});
}

// The error in a sparsifier's mask; "" if it is valid.
inline std::string fault_of_mask(const Mask& got, const Spec& spec, const Dense& x,
                                 const Hints& hints) {
  const SparsifierReference& reference = reference_of(spec.name());
  const Selection selection{spec, x, hints};
  if (reference.fault)
    if (auto fault = reference.fault(got, selection)) return *fault;
  return same_mask(got, reference.mask(selection)) ? "" : "another set";
}

}  // namespace sten::testing
