// SPDX-License-Identifier: Apache-2.0
#include "libsten/model/execution/generation.h"

#include <algorithm>

#include "libsten/compute/ops/elementwise/binary.h"
#include "libsten/compute/ops/elementwise/unary_rows.h"
#include "libsten/core/base/text.h"

namespace sten {
namespace {

constexpr const char *ids_input = "input_ids", *positions_input = "position_ids";

// A value with an axis of tokens.
struct TokenAxis {
  Index rank, axis;
  bool is_last = false;  // only the last token
  Index from_right() const { return rank - 1 - axis; }
};

// Checks in one pass over the graph that operators keep tokens apart; refuses unknown operators.
class TokenWalk {
 public:
  explicit TokenWalk(const Graph& g) : g_(g) {}

  void check() {
    for (const Node& n : g_.nodes())
      if (n.op.text() == "attention" && n.attributes.integer("causal", 0) == 0)
        fail_at(n, "is not causal");
    for (const std::string& name : g_.inputs())
      if (name == ids_input)
        values_.emplace(name, TokenAxis{2, 1});
      else if (name == positions_input)
        values_.emplace(name, TokenAxis{1, 0});
      else
        fail_usage("unexpected input {}: text generation takes only {} and {}", quote(name),
                   ids_input, positions_input);
    for (const Node& n : g_.nodes())
      if (std::ranges::any_of(n.inputs, [&](const std::string& in) { return of(in) != nullptr; }))
        values_.emplace(n.name, result(n));
    const TokenAxis* logits = of(g_.outputs().front());
    if (!logits || logits->rank != 3 || logits->axis != 1)
      fail_usage("output {}: expected the logits of each token", quote(g_.outputs().front()));
  }
  // The checked graph with the last `count` tokens instead of the last one.
  Graph with_last(Index count) const {
    GraphParts parts = g_.parts();
    for (Node& n : parts.nodes) {
      const TokenAxis* y = of(n.name);
      if (n.op.text() != "slice" || !y || !y->is_last) continue;
      const Attributes::List axes = n.attributes.list("axes", {});
      Attributes::List begins = n.attributes.list("begins", {});
      for (std::size_t i = 0; i < begins.size(); ++i)
        if (is_tokens(i < axes.size() ? axes[i] : static_cast<Index>(i), *y)) begins[i] = -count;
      n.attributes.set("begins", std::move(begins));
    }
    return Graph(std::move(parts));
  }

 private:
  [[noreturn]] static void fail_at(const Node& n, const std::string& why) {
    fail_usage("node {}: {} {}, so the graph cannot generate text", quote(n.name), n.op.text(),
               why);
  }
  const TokenAxis* of(const std::string& value) const {
    const auto at = values_.find(value);
    return at == values_.end() ? nullptr : &at->second;
  }
  TokenAxis result(const Node& n) const {
    const std::string_view op = n.op.text();
    if (op == "attention") return attended(n);
    if (op == "slice") return sliced(n);
    if (op == "reshape") return reshaped(n);
    if (std::ranges::count(binary_rows(), op, &BinaryRow::name)) return joined(n);
    if (op == "embedding") {
      if (of(n.inputs[0])) fail_at(n, "looks up computed tokens");
      const TokenAxis ids = *of(n.inputs[1]);
      return {ids.rank + 1, ids.axis, ids.is_last};
    }
    if (op == "rotary") return rotated(n);
    if (op == "mixture-of-experts") return routed(n);
    const bool is_of_rows = op == "linear" || op == "layer-norm" || op == "rms-norm";
    if (!is_of_rows && op != "identity" && op != "cast" && !find_unary_row(op))
      fail_at(n, "may mix tokens");
    const TokenAxis* x = of(n.inputs[0]);
    for (std::size_t i = 1; i < n.inputs.size(); ++i)
      if (of(n.inputs[i])) fail_at(n, "has tokens for parameters");
    if (is_of_rows && x->from_right() == 0) fail_at(n, "works across tokens");
    return *x;
  }

  TokenAxis attended(const Node& n) const {
    if (n.inputs.size() != 3) fail_at(n, "has a mask or a bias");
    for (const std::string& in : n.inputs) {
      const TokenAxis* x = of(in);
      if (!x || x->rank != 3 || x->axis != 1 || x->is_last) fail_at(n, "does not get all tokens");
    }
    return *of(n.inputs[0]);
  }

  // A position per token.
  TokenAxis rotated(const Node& n) const {
    const TokenAxis *x = of(n.inputs[0]), *positions = of(n.inputs[1]);
    if (!x || x->rank != 3 || x->axis != 1 || of(n.inputs[2])) fail_at(n, "may mix tokens");
    if (!positions || positions->from_right() != 0 || positions->is_last != x->is_last)
      fail_at(n, "does not get the tokens' positions");
    return *x;
  }

  // The router logits of each token.
  TokenAxis routed(const Node& n) const {
    const TokenAxis *x = of(n.inputs[0]), *logits = of(n.inputs[1]);
    const bool fits = x && logits && x->axis == logits->axis && x->from_right() > 0 &&
                      x->is_last == logits->is_last;
    const auto is_computed = [&](const std::string& in) { return of(in) != nullptr; };
    if (!fits || std::any_of(n.inputs.begin() + 2, n.inputs.end(), is_computed))
      fail_at(n, "may mix tokens");
    return *x;
  }

  // The axis of tokens after broadcasting.
  TokenAxis joined(const Node& n) const {
    const TokenAxis* wide = nullptr;
    for (const std::string& in : n.inputs) {
      const TokenAxis* x = of(in);
      if (!x) continue;
      if (wide && (wide->from_right() != x->from_right() || wide->is_last != x->is_last))
        fail_at(n, "mixes tokens");
      if (!wide || x->rank > wide->rank) wide = x;
    }
    Index rank = wide->rank;
    for (const std::string& in : n.inputs) {
      if (of(in)) continue;
      const Shape* shape = g_.stored_shape(in);
      if (!shape) fail_at(n, "takes an unknown shape");
      const Index count = std::ssize(*shape), axis = count - 1 - wide->from_right();
      if (axis >= 0 && (*shape)[axis] != 1) fail_at(n, "has other parameters for each token");
      rank = std::max(rank, count);
    }
    return {rank, rank - 1 - wide->from_right(), wide->is_last};
  }

  static bool is_tokens(Index axis, const TokenAxis& x) {
    return (axis < 0 ? axis + x.rank : axis) == x.axis;
  }
  // A shape whose first extents, up to the tokens, are those of the input.
  TokenAxis reshaped(const Node& n) const {
    const TokenAxis x = *of(n.inputs[0]);
    const Attributes::List shape = n.attributes.list("shape", {});
    const bool keeps = n.inputs.size() == 1 && n.attributes.integer("copy-zeros", 0) != 0 &&
                       std::ssize(shape) > x.axis + 1 &&
                       std::all_of(shape.begin(), shape.begin() + x.axis + 1,
                                   [](Index extent) { return extent == 0; });
    if (!keeps) fail_at(n, "may mix tokens");
    return {std::ssize(shape), x.axis, x.is_last};
  }

  // A slice of another axis, or of the last token.
  TokenAxis sliced(const Node& n) const {
    TokenAxis x = *of(n.inputs[0]);
    if (n.inputs.size() > 1) fail_at(n, "takes computed ranges");
    if (!n.attributes.has("begins")) {
      if (is_tokens(n.attributes.integer("axis", 0), x)) fail_at(n, "takes some of the tokens");
      return x;
    }
    const Attributes::List begins = n.attributes.list("begins", {}),
                           ends = n.attributes.list("ends", {}),
                           axes = n.attributes.list("axes", {}),
                           steps = n.attributes.list("steps", {});
    for (std::size_t i = 0; i < begins.size(); ++i) {
      if (!is_tokens(i < axes.size() ? axes[i] : static_cast<Index>(i), x)) continue;
      const bool is_last = begins[i] == -1 && i < ends.size() && ends[i] > Index{1} << 30 &&
                           (steps.empty() || steps[i] == 1);
      if (!is_last) fail_at(n, "takes some of the tokens");
      x.is_last = true;
    }
    return x;
  }

  const Graph& g_;
  std::map<std::string, TokenAxis, std::less<>> values_;
};

Dense row_of(std::span<const std::int64_t> values, Shape shape) {
  Dense x{std::move(shape), Values::uninitialized(DType::I64, std::ssize(values))};
  std::ranges::copy(values, x.values.mutate<std::int64_t>().begin());
  return x;
}

Graph checked(Graph g, Index most, Index sequences) {
  TokenWalk walk(g);
  walk.check();
  if (sequences < 1) fail_usage("expected at least 1 sequence, got {}", sequences);
  if (most < 1) fail_usage("expected at least 1 token, got {}", most);
  if (const auto n = positions_of(g); n && most > *n)
    fail_usage("{} tokens exceed the model's {} positions", most, *n);
  return sequences == 1 ? g : walk.with_last(sequences);
}

}  // namespace

void check_generates(const Graph& g) { TokenWalk(g).check(); }

std::optional<Index> positions_of(const Graph& g) {
  std::optional<Index> least;
  for (const Node& n : g.nodes()) {
    if (n.op.text() != "embedding" || n.inputs[1] != positions_input) continue;
    const Weight* table = g.find_weight(n.inputs[0]);
    if (table && (!least || table->shape[0] < *least)) least = table->shape[0];
  }
  return least;
}

Generation::Generation(Graph graph, NamedValues<Tensor> weights, Index most,
                       std::vector<PrecisionRule> precision, Index sequences)
    : caches_(std::make_unique<KeyValueCaches>()),
      executor_(checked(std::move(graph), most, sequences), std::move(weights),
                {.caches = caches_.get(), .precision = std::move(precision)}),
      logits_(executor_.graph().outputs().front()),
      has_positions_(std::ranges::count(executor_.graph().inputs(), positions_input) > 0),
      tokens_(static_cast<std::size_t>(sequences)) {
  caches_->tokens = most;
  caches_->sequences = sequences;
}

std::span<const float> Generation::run(std::span<const std::int64_t> ids) {
  const NextTokens next{0, ids};
  return run_batch({&next, 1});
}

std::span<const float> Generation::run_batch(std::span<const NextTokens> next) {
  std::vector<std::int64_t> ids, positions;
  caches_->run.clear();
  const auto add = [&](const NextTokens& x, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      ids.push_back(x.ids[i]);
      positions.push_back(tokens(x.sequence) + static_cast<Index>(i));
      caches_->run.push_back({x.sequence, positions.back()});
    }
  };
  for (const NextTokens& x : next) {
    if (x.ids.empty()) fail_usage("expected at least one token");
    if (x.sequence < 0 || x.sequence >= std::ssize(tokens_) ||
        std::ranges::count(next, x.sequence, &NextTokens::sequence) > 1)
      fail_usage("expected distinct sequences below {}, got {}", tokens_.size(), x.sequence);
    if (std::ssize(x.ids) > most() - tokens(x.sequence))
      fail_usage("{} tokens after {} exceed the limit of {}", x.ids.size(), tokens(x.sequence),
                 most());
    add(x, 0, x.ids.size() - 1);
  }
  // The last tokens of all sequences lie side by side, so that one slice has their logits.
  for (const NextTokens& x : next) add(x, x.ids.size() - 1, x.ids.size());
  if (ids.empty()) fail_usage("expected at least one token");
  const Index n = std::ssize(ids), rows = std::ssize(next);
  NamedValues<Tensor> in{{ids_input, row_of(ids, {1, n})}};
  if (has_positions_) in.emplace(positions_input, row_of(positions, {n}));
  const Tensor& y = executor_.run(in).at(logits_);
  if (!y.is<Dense>() || y.dtype() != DType::F32)
    fail("output {}: expected dense logits in F32, got {} in {}", quote(logits_),
         name_of(y.dtype()), y.layout());
  const Dense& logits = y.as<Dense>();
  if (logits.extents.size() != 3 || logits.extents[0] != 1 || logits.extents[1] < rows ||
      logits.size() == 0)
    fail("output {}: expected logits of shape [1, tokens, ids], got {}", quote(logits_),
         to_string(logits.extents));
  for (const NextTokens& x : next) tokens_[x.sequence] += std::ssize(x.ids);
  return logits.values.as<float>().last(static_cast<std::size_t>(rows * logits.extents[2]));
}

void Generation::rewind(Index n, Index sequence) {
  if (n < 0 || n > tokens(sequence))
    fail_usage("rewind: expected 0 to {} tokens, got {}", tokens(sequence), n);
  tokens_[sequence] = n;
}

Index Generation::cache_bytes() const {
  Index sum = 0;
  for (const auto& [node, cache] : caches_->of) sum += cache.bytes();
  return sum;
}

}  // namespace sten
