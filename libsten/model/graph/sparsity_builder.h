// SPDX-License-Identifier: Apache-2.0
// Sparsity builder: makes a sparse model from a dense one by assigning sparsifiers and layouts to
// weights and intermediates by name (paper, section 3.4).
//
//   SparsityBuilder sb;
//   sb.set_weight("encoder.*.weight", by("magnitude:sparsity=0.9"), Spec("csr"))
//       .set_interm("encoder.*.relu", OutFormat::fused(by("relu"), Spec("csr")));
//   const Graph sparse = sb.sparse_graph(dense);
//   const NamedValues<Tensor> w = sparse_weights(sparse, dense_weights);
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "libsten/model/graph/graph.h"

namespace sten {

class SparsityBuilder {
 public:
  // A pattern is a name, a glob on whole names, a list of these (pattern_list()), or "re:" and an
  // expression. An intermediate has the name of its node. Error (usage) for an invalid pattern, and
  // for an unknown layout.
  SparsityBuilder& set_weight(const std::string& pattern, Sparsifier initial, const Spec& layout);
  SparsityBuilder& set_interm(const std::string& pattern, OutFormat format);
  // Gradients. By default, a weight's gradient has the weight's positions, and others are dense.
  SparsityBuilder& set_weight_grad(const std::string& pattern, OutFormat format);
  SparsityBuilder& set_interm_grad(const std::string& pattern, OutFormat format);

  // Returns g with these formats; values without a match keep theirs. Error (usage) with all
  // patterns without a match (with similar names, or the kind of the name), and all names that two
  // patterns of a kind match (with both patterns).
  Graph sparse_graph(const Graph& g) const;

  // The builder that makes g from the same graph without formats.
  static SparsityBuilder of(const Graph& g);
  bool empty() const;

  // JSON: {"weights": [{"name", "initial", "layout"}], "intermediates": [{"name", "format"}],
  // "weight_gradients": ..., "intermediate_gradients": ...}. Error (usage) as in graph_json.h;
  // messages start with `what`.
  std::string to_json() const;
  static SparsityBuilder parse(std::string_view json, const std::string& what = "sparsity");

 private:
  template <class T>
  struct Entry {
    std::string pattern;
    T format;
  };
  template <class T>
  using Entries = std::vector<Entry<T>>;

  SparsityBuilder& add(Entries<OutFormat>& to, const std::string& pattern, OutFormat format);

  Entries<WeightFormat> weights_;  // without gradients
  Entries<OutFormat> interms_, weight_grads_, interm_grads_;

  friend class SparsityMatch;
};

}  // namespace sten
