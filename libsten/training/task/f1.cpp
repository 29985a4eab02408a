// SPDX-License-Identifier: Apache-2.0
#include "libsten/training/task/f1.h"

#include <algorithm>

namespace sten {

F1Counts& F1Counts::operator+=(const F1Counts& more) {
  hits += more.hits;
  predicted += more.predicted;
  labelled += more.labelled;
  return *this;
}

F1Scorer::F1Scorer(std::vector<std::string> names) : classes_(std::ssize(names)) {
  bool any = false;
  for (const std::string& name : names) {
    if (name == "O") {
      tags_.emplace_back();
      continue;
    }
    if (!name.starts_with("B-") && !name.starts_with("I-")) return;
    tags_.push_back({true, name.starts_with("B-"), name.substr(2)});
    any = true;
  }
  if (any) kind_ = F1Kind::entities;
}

std::vector<F1Counts> F1Scorer::counts(const Dense& logits, const Dense& labels) const {
  const Index n = labels.size(), row = labels.extents.empty() ? 1 : labels.extents.back();
  const float* x = logits.values.as<float>().data();
  const std::int64_t* y = labels.values.as<std::int64_t>().data();
  std::vector<F1Counts> all(kind_ == F1Kind::classes ? classes_ : 1);
  std::vector<Index> got, wanted;
  const auto add = [&] {
    const std::vector<F1Counts> more = count_classes(got, wanted);
    for (std::size_t i = 0; i < all.size(); ++i) all[i] += more[i];
    got.clear();
    wanted.clear();
  };
  for (Index i = 0; i < n; ++i) {
    if (y[i] != ignored_label) {
      const float* at = x + i * classes_;
      got.push_back(std::max_element(at, at + classes_) - at);
      wanted.push_back(y[i]);
    }
    if ((i + 1) % row == 0) add();
  }
  return all;
}

std::vector<F1Counts> F1Scorer::count_classes(const std::vector<Index>& got,
                                              const std::vector<Index>& wanted) const {
  if (kind_ == F1Kind::entities) {
    const auto a = spans(got), b = spans(wanted);
    F1Counts c{0, std::ssize(a), std::ssize(b)};
    for (const auto& span : a) c.hits += std::ranges::count(b, span);
    return {c};
  }
  std::vector<F1Counts> all(static_cast<std::size_t>(classes_));
  for (std::size_t i = 0; i < got.size(); ++i) {
    ++all[static_cast<std::size_t>(got[i])].predicted;
    ++all[static_cast<std::size_t>(wanted[i])].labelled;
    all[static_cast<std::size_t>(got[i])].hits += got[i] == wanted[i];
  }
  return all;
}

// [start, end, type] of each span. As in conlleval, an I- that continues no span of its type starts
// one.
std::vector<std::vector<Index>> F1Scorer::spans(const std::vector<Index>& tags) const {
  std::vector<std::vector<Index>> all;
  const Tag* open = nullptr;
  for (Index i = 0; i < std::ssize(tags); ++i) {
    const Tag& tag = tags_[static_cast<std::size_t>(tags[static_cast<std::size_t>(i)])];
    const bool goes_on = open && tag.is_inside && !tag.begins && tag.type == open->type;
    if (goes_on) {
      ++all.back()[1];
      continue;
    }
    open = tag.is_inside ? &tag : nullptr;
    if (!open) continue;
    // The same index for B-x and I-x.
    const auto first = std::ranges::find_if(
        tags_, [&](const Tag& t) { return t.is_inside && t.type == tag.type; });
    all.push_back({i, i + 1, first - tags_.begin()});
  }
  return all;
}

std::optional<double> f1_of(const std::vector<F1Counts>& counts) {
  double sum = 0;
  Index n = 0;
  for (const F1Counts& c : counts) {
    if (c.predicted + c.labelled == 0) continue;
    sum += 2 * static_cast<double>(c.hits) / static_cast<double>(c.predicted + c.labelled);
    ++n;
  }
  if (n == 0) return std::nullopt;
  return sum / static_cast<double>(n);
}

}  // namespace sten
