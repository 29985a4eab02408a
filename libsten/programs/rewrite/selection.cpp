// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/rewrite/selection.h"

#include <algorithm>
#include <functional>

#include "libsten/core/registry/registry.h"

namespace sten {

std::string unfit(const TensorInfo& t, Purpose purpose) {
  if (purpose == Purpose::prune && !is_prunable(t.dtype))
    return fmt::format("{} elements cannot be pruned", name_of(t.dtype));
  if (width_of(t.dtype) == 0)
    return fmt::format("{} elements are smaller than one byte", name_of(t.dtype));
  if (t.shape.size() < 2) return fmt::format("expected rank 2 or more, got {}", t.shape.size());
  return "";
}

bool holds_vectors(const Spec& layout) {
  try {
    registry().pack(Dense::of({1}, {1}), Mask::all({1}), layout);
    return true;
  } catch (const Error&) {
    return false;
  }
}

namespace {

std::vector<std::string> names_of(const Checkpoint& c) {
  std::vector<std::string> names;
  for (const CheckpointTensor& t : c.tensors()) names.push_back(t.name);
  return names;
}

}  // namespace

TensorNames::TensorNames(const Checkpoint& c) : TensorNames(names_of(c), c.name()) {}

TensorNames::TensorNames(std::vector<std::string> names, std::string of, std::string kind)
    : names_(std::move(names)),
      of_(std::move(of)),
      kind_(std::move(kind)),
      by_name_(names_.size()) {
  for (std::size_t i = 0; i < by_name_.size(); ++i) by_name_[i] = i;
  std::sort(by_name_.begin(), by_name_.end(),
            [&](std::size_t a, std::size_t b) { return names_[a] < names_[b]; });
}

void TensorNames::for_each_match(const std::string& pattern, const std::string& flag,
                                 const std::function<void(std::size_t)>& f) const {
  const NamePattern p(pattern);
  const std::string prefix = p.literal_prefix();
  const auto begin =
      std::lower_bound(by_name_.begin(), by_name_.end(), prefix,
                       [&](std::size_t i, const std::string& text) { return names_[i] < text; });
  std::vector<std::size_t> found;
  for (auto at = begin; at != by_name_.end() && names_[*at].starts_with(prefix); ++at) {
    if (p.matches(names_[*at])) found.push_back(*at);
    if (p.is_literal()) break;  // the first match of the prefix is the only one
  }
  std::sort(found.begin(), found.end());
  for (const std::size_t i : found) f(i);
  if (!found.empty()) return;
  std::string near = p.is_literal() ? suggestion(pattern, names_) : "";
  if (near.empty())
    for (const std::string& name : nearest(pattern, names_, 3))
      near += (near.empty() ? "; near are " : ", ") + printable(name);
  fail_usage("{} {} matches none of the {} {} of {}{}", flag, quote(pattern), names_.size(), kind_,
             of_, near);
}

std::vector<std::string> TensorNames::listed(const std::vector<std::string>& patterns) const {
  std::vector<std::string> all;
  for (const std::string& text : patterns) {
    const auto at =
        std::lower_bound(by_name_.begin(), by_name_.end(), text,
                         [&](std::size_t i, const std::string& t) { return names_[i] < t; });
    if (at != by_name_.end() && names_[*at] == text)
      all.push_back(text);
    else
      for (std::string& pattern : pattern_list(text)) all.push_back(std::move(pattern));
  }
  return all;
}

std::vector<bool> TensorNames::chosen(const Patterns& patterns) const {
  std::vector<bool> chosen(names_.size(), patterns.include.empty());
  for (const std::string& p : listed(patterns.include))
    for_each_match(p, "--include", [&](std::size_t i) { chosen[i] = true; });
  for (const std::string& p : listed(patterns.exclude))
    for_each_match(p, "--exclude", [&](std::size_t i) { chosen[i] = false; });
  return chosen;
}

void for_each_match(const Checkpoint& c, const std::string& pattern, const std::string& flag,
                    const std::function<void(std::size_t)>& f) {
  TensorNames(c).for_each_match(pattern, flag, f);
}

Selection select_tensors(const Checkpoint& c, const Patterns& patterns, Purpose purpose) {
  Selection s;
  const std::size_t n = c.tensors().size();
  s.chosen.resize(n);
  s.unfit.resize(n);
  const TensorNames names(c);
  for (const std::string& pattern : names.listed(patterns.include)) {
    bool any = false;
    std::string reason;
    const bool literal = NamePattern(pattern).is_literal();
    names.for_each_match(pattern, "--include", [&](std::size_t i) {
      const std::string why = unfit(c.tensors()[i], purpose);
      if (why.empty()) {
        any = s.chosen[i] = true;
      } else if (literal) {
        fail_usage("--include {}: {}", quote(pattern), why);
      } else {
        s.unfit[i] = true;
        reason = why;
      }
    });
    if (!any)
      fail_usage("--include {} matches only unsupported tensors: {}", quote(pattern), reason);
  }
  if (patterns.include.empty()) {
    s.why = skip_reasons(c);
    for (std::size_t i = 0; i < n; ++i) {
      const CheckpointTensor& t = c.tensors()[i];
      if ((c.is_array() && is_prunable(t.dtype)) ||
          (purpose == Purpose::convert && (t.is_sparse() || c.is_array())))
        s.why[i] = SkipReason::no;
      s.chosen[i] = s.why[i] == SkipReason::no;
    }
  }
  for (const std::string& pattern : names.listed(patterns.exclude))
    names.for_each_match(pattern, "--exclude", [&](std::size_t i) {
      if (s.chosen[i] && !s.why.empty()) s.why[i] = SkipReason::excluded;
      s.chosen[i] = s.unfit[i] = false;
    });
  s.count = std::count(s.chosen.begin(), s.chosen.end(), true);
  s.skipped = std::count(s.unfit.begin(), s.unfit.end(), true);
  return s;
}

void add_tensor(const Report& r, std::vector<Cell>& row, const TensorInfo& t) {
  r.at(row, "name") = t.name;
  if (!t.module.empty()) r.at(row, module_column.key) = t.module;
  r.at(row, "shape") = t.shape;
  r.at(row, "dtype") = std::string(name_of(t.dtype));
}

std::vector<std::string> selected_rows(const Report& r) {
  const auto column = std::ranges::find(r.columns, module_column.key, &Column::key);
  const auto at = static_cast<std::size_t>(column - r.columns.begin());
  std::vector<std::string> lines;
  for (const auto& row : r.rows) {
    const auto* module = at < row.size() ? std::get_if<std::string>(&row[at]) : nullptr;
    lines.push_back(fmt::format("selected {}{}", printable(std::get<std::string>(row.front())),
                                module ? fmt::format(" ({})", printable(*module)) : ""));
  }
  return lines;
}

std::vector<std::string> skipped_rows(const Checkpoint& c, const std::vector<SkipReason>& why) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < why.size(); ++i)
    if (why[i] != SkipReason::no) order.push_back(i);
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return natural_less(c.tensors()[a].name, c.tensors()[b].name);
  });
  std::vector<std::string> lines;
  for (const std::size_t i : order) {
    const CheckpointTensor& t = c.tensors()[i];
    lines.push_back(fmt::format("left alone {}{}: {}", printable(t.name),
                                t.module.empty() ? "" : fmt::format(" ({})", printable(t.module)),
                                reason(why[i])));
  }
  return lines;
}

}  // namespace sten
