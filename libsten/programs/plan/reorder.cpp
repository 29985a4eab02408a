// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/plan/reorder.h"

#include <algorithm>

#include "libsten/core/base/error.h"
#include "libsten/core/base/parallel.h"
#include "libsten/core/base/text.h"
#include "libsten/programs/rewrite/axis.h"
#include "libsten/programs/rewrite/selection.h"

namespace sten {
namespace {

// The segments between '*'.
std::vector<std::string> segments_of(std::string_view text) {
  std::vector<std::string> pieces(1);
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.compare(i, 3, "[=]") == 0 || text.compare(i, 3, "[*]") == 0) {
      pieces.back() += text[i + 1];
      i += 2;
    } else if (text[i] == '*') {
      pieces.emplace_back();
    } else {
      pieces.back() += text[i];
    }
  }
  return pieces;
}

// The name of the bias of a weight; "" if the weight has none.
std::string bias_of(const std::string& name) {
  constexpr std::string_view weight = "weight";
  if (!name.ends_with(weight)) return "";
  const std::size_t at = name.size() - weight.size();
  return at == 0 || name[at - 1] == '.' ? name.substr(0, at) + "bias" : "";
}

// out[r, c] = x[rows[r], columns[c]]; nullptr: the identity. A vector has one column.
Dense gathered(const Dense& x, const std::vector<Index>* rows, const std::vector<Index>* columns) {
  const Index n = x.extents[0], width = n ? x.size() / n : 0;
  Dense out{x.extents, Values::uninitialized(x.dtype(), x.size())};
  with_width(x.values.width(), [&]<class U>(U) {
    const U* from = x.values.as<U>().data();
    U* to = out.values.mutate<U>().data();
    const Index grain = std::max<Index>(1, (Index{1} << 15) / std::max<Index>(1, width));
    parallel_for(n, grain, [&](Index begin, Index end) {
      for (Index r = begin; r < end; ++r) {
        const U* row = from + (rows ? (*rows)[r] : r) * width;
        if (columns)
          for (Index c = 0; c < width; ++c) to[r * width + c] = row[(*columns)[c]];
        else
          std::copy_n(row, width, to + r * width);
      }
    });
  });
  return out;
}

}  // namespace

ReorderRule ReorderRule::parse(const std::string& text) {
  std::size_t at = text.find('=');
  while (at != std::string::npos && at > 0 && text.compare(at - 1, 3, "[=]") == 0)
    at = text.find('=', at + 1);
  if (at == std::string::npos || at == 0 || at + 1 == text.size())
    fail_usage("--reorder {}: expected FIRST=NEXT, where the weight NEXT reads the output of FIRST",
               quote(text));
  ReorderRule rule{text, segments_of(std::string_view(text).substr(0, at)),
                   segments_of(std::string_view(text).substr(at + 1))};
  if (rule.next.size() > rule.first.size())
    fail_usage("--reorder {}: expected as many * on both sides of the =, got {} and {}",
               quote(text), rule.next.size() - 1, rule.first.size() - 1);
  return rule;
}

std::string ReorderRule::pattern() const {
  std::string glob;
  for (const std::string& piece : first) {
    if (&piece != first.data()) glob += '*';
    glob += pattern_of(piece);
  }
  return glob;
}

std::string ReorderRule::next_of(const std::string& name) const {
  std::vector<std::string> matched;
  std::size_t at = first.front().size();
  for (std::size_t k = 1; k < first.size(); ++k) {
    const std::size_t end =
        k + 1 < first.size() ? name.find(first[k], at) : name.size() - first[k].size();
    matched.push_back(name.substr(at, end - at));
    at = end + first[k].size();
  }
  std::string text = next.front();
  for (std::size_t k = 1; k < next.size(); ++k) text += matched[k - 1] + next[k];
  return text;
}

Reordering::Reordering(const std::vector<ReorderRule>& rules, const Checkpoint& in,
                       const std::string& input,
                       const std::vector<std::optional<TensorPlan>>& plans) {
  if (rules.empty()) return;
  if (in.is_onnx()) fail_usage("{}: --reorder does not support ONNX models", in.name());
  in_ = &in;
  const auto& tensors = in.tensors();
  transposed_ = in_by_out(in, input);
  rows_.assign(tensors.size(), none);
  columns_.assign(tensors.size(), none);
  permutations_.resize(tensors.size());
  const TensorNames names(in);
  for (const ReorderRule& rule : rules) {
    const std::string where = "--reorder " + quote(rule.text);
    names.for_each_match(rule.pattern(), "--reorder", [&](std::size_t i) {
      check_weight(i, where);
      if (!plans[i] || !plans[i]->sparsifier.is(NmgvFit::name))
        fail_usage("{}: {}: expected a tensor pruned to nmgv", where, quote(tensors[i].name));
      if (plans[i]->sparsifier.has("dims"))
        fail_usage("{}: {}: expected a sparsifier without dims", where, quote(tensors[i].name));
      const std::string next = rule.next_of(tensors[i].name);
      const CheckpointTensor* t = in.find(next);
      if (!t) {
        std::vector<std::string> all;
        for (const CheckpointTensor& other : tensors) all.push_back(other.name);
        fail_usage("{}: {} not found after {}{}", where, quote(next), quote(tensors[i].name),
                   suggestion(next, all));
      }
      add(where, i, static_cast<std::size_t>(t - tensors.data()));
    });
  }
  sort();
}

void Reordering::check_weight(std::size_t i, const std::string& what) const {
  const CheckpointTensor& t = in_->tensors()[i];
  if (t.is_sparse())
    fail_usage("{}: {}: expected a dense weight, got a sparse one", what, quote(t.name));
  if (t.shape.size() != 2)
    fail_usage("{}: {}: expected a matrix, got shape {}", what, quote(t.name), to_string(t.shape));
  if (transposed_[i] || t.in_by_out)
    fail_usage("{}: {}: expected outputs as rows, got [in, out]", what, quote(t.name));
}

void Reordering::add(const std::string& what, std::size_t first, std::size_t next) {
  const auto& tensors = in_->tensors();
  const CheckpointTensor &a = tensors[first], &b = tensors[next];
  check_weight(next, what);
  if (width_of(b.dtype) == 0)
    fail_usage("{}: {} elements of {} are smaller than one byte", what, name_of(b.dtype),
               quote(b.name));
  if (b.shape[1] != a.shape[0])
    fail_usage("{}: {} has {} rows, but {} has {} columns", what, quote(a.name), a.shape[0],
               quote(b.name), b.shape[1]);
  if (rows_[first] != none)
    fail_usage("{}: the rows of {} are reordered by another --reorder", what, quote(a.name));
  if (columns_[next] != none)
    fail_usage("{}: the columns of {} follow the rows of {} already", what, quote(b.name),
               quote(tensors[columns_[next]].name));
  rows_[first] = columns_[next] = first;
  firsts_.push_back(first);
  const std::string bias = bias_of(a.name);
  const CheckpointTensor* t = bias.empty() ? nullptr : in_->find(bias);
  if (!t) return;
  if (t->is_sparse() || t->shape != Shape{a.shape[0]} || width_of(t->dtype) == 0)
    fail_usage("{}: {} has {} rows, but the bias {} is {} of shape {}", what, quote(a.name),
               a.shape[0], quote(bias), t->is_sparse() ? t->layout.name() : name_of(t->dtype),
               to_string(t->shape));
  rows_[static_cast<std::size_t>(t - tensors.data())] = first;
  ++biases_;
}

// Sorts weights so that columns are permuted before rows are chosen.
void Reordering::sort() {
  std::vector<std::size_t> sorted;
  std::vector<char> state(rows_.size());  // 1: being visited, 2: sorted
  for (const std::size_t start : firsts_) {
    std::vector<std::size_t> path;
    for (std::size_t i = start; i != none && rows_[i] == i && state[i] != 2; i = columns_[i]) {
      if (state[i] == 1)
        fail_usage("--reorder: {} depends on its own output", quote(in_->tensors()[i].name));
      state[i] = 1;
      path.push_back(i);
    }
    for (; !path.empty(); path.pop_back()) {
      state[path.back()] = 2;
      sorted.push_back(path.back());
    }
  }
  firsts_ = std::move(sorted);
}

const std::vector<Index>* Reordering::permutation_of(std::size_t first) const {
  if (first == none || permutations_[first].rows.empty() || !permutations_[first].moves())
    return nullptr;
  return &permutations_[first].rows;
}

Dense Reordering::moved(std::size_t i, const Dense& x) const {
  if (!moves(i)) return x;
  const std::vector<Index>*rows = permutation_of(rows_[i]), *columns = permutation_of(columns_[i]);
  return rows || columns ? gathered(x, rows, columns) : x;
}

InputStatistics Reordering::moved(std::size_t i, InputStatistics inputs) const {
  const std::vector<Index>* order = moves_columns(i) ? permutation_of(columns_[i]) : nullptr;
  if (!order) return inputs;
  if (!inputs.squares.empty()) {
    std::vector<double> squares(inputs.squares.size());
    for (std::size_t j = 0; j < squares.size(); ++j) squares[j] = inputs.squares[(*order)[j]];
    inputs.squares = std::move(squares);
  }
  if (inputs.has_gram()) inputs.gram = gathered(inputs.gram, order, order);
  if (inputs.has_cross()) inputs.cross = gathered(inputs.cross, order, order);
  return inputs;
}

}  // namespace sten
