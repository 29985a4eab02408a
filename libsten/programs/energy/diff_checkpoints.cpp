// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/energy/diff_checkpoints.h"

#include <algorithm>
#include <map>
#include <utility>

#include "libsten/files/system/lack_of_memory.h"
#include "libsten/programs/measure/difference.h"
#include "libsten/report/progress.h"

namespace sten {
namespace {

// Columns of B have a cell if B differs.
Report diff_report() {
  Report r;
  r.program = "sten-energy";
  r.columns = {{"name", "tensor", Unit::text},
               {"difference", "difference", Unit::text},
               {"shape", "shape", Unit::shape},
               {"shape_b", "in B", Unit::shape},
               {"dtype", "dtype", Unit::text},
               {"dtype_b", "in B", Unit::text},
               {"layout", "layout", Unit::text},
               {"layout_b", "in B", Unit::text},
               {"changed", "changed", Unit::count},
               {"max_difference", "max |B-A|", Unit::measured},
               {"relative_norm", "|B-A|/|A|", Unit::measured},
               {"to_zero", "to 0", Unit::count},
               {"from_zero", "from 0", Unit::count},
               {"overlap", "overlap", Unit::ratio},
               {"not_finite", "not finite", Unit::count}};
  return r;
}

void add_numbers_of(const Difference& d, const Report& r, std::vector<Cell>& row, bool has_sizes) {
  if (has_sizes) {
    r.at(row, "max_difference") = d.largest;
    if (const auto norm = d.relative_norm()) r.at(row, "relative_norm") = *norm;
  }
  r.at(row, "to_zero") = d.to_zero;
  r.at(row, "from_zero") = d.from_zero;
  if (d.not_finite) r.at(row, "not_finite") = d.not_finite;
}

// Adds the overlap of two masks. Jaccard: positions true in both divided by positions true in
// either.
void add_overlap(const Difference& d, const Report& r, std::vector<Cell>& row) {
  if (d.in_both + d.changed) r.at(row, "overlap") = share(d.in_both, d.in_both + d.changed);
}

// Names of the tensors of both checkpoints, in natural order.
std::vector<std::string> names_in(const Checkpoint& a, const Checkpoint& b) {
  std::vector<std::string> names;
  for (const CheckpointTensor& t : a.tensors()) names.push_back(t.name);
  for (const CheckpointTensor& t : b.tensors())
    if (!a.find(t.name)) names.push_back(t.name);
  std::sort(names.begin(), names.end(), natural_less);
  return names;
}

struct CheckpointDiff {
  const Checkpoint &a, &b;
  Report& r;
  Difference total = {}, masks = {};
  bool has_weights = false;               // the total has differences of weights
  Index other_layouts = 0;                // equal tensors in different layouts
  std::map<std::string, Index> how = {};  // rows by kind of difference

  void look_at(const std::string& name);
  std::string compare(const CheckpointTensor& t, const CheckpointTensor& u, std::vector<Cell>& row);
};

// Adds a row unless the tensor is equal in both.
void CheckpointDiff::look_at(const std::string& name) {
  const CheckpointTensor *t = a.find(name), *u = b.find(name), *one = t ? t : u;
  std::vector<Cell> row;
  r.at(row, "name") = name;
  r.at(row, "shape") = one->shape;
  r.at(row, "dtype") = std::string(name_of(one->dtype));
  r.at(row, "layout") = one->layout.str();
  const std::string what = !t ? "only in B" : !u ? "only in A" : compare(*t, *u, row);
  if (what.empty()) return;
  ++how[what];
  r.at(row, "difference") = what;
  r.rows.push_back(std::move(row));
}

// The kind of difference; "" if equal.
std::string CheckpointDiff::compare(const CheckpointTensor& t, const CheckpointTensor& u,
                                    std::vector<Cell>& row) {
  const bool same_dtype = t.dtype == u.dtype, same_layout = t.layout == u.layout;
  if (!same_dtype) r.at(row, "dtype_b") = std::string(name_of(u.dtype));
  if (!same_layout) r.at(row, "layout_b") = u.layout.str();
  if (t.shape != u.shape) {
    r.at(row, "shape_b") = u.shape;
    return same_dtype ? "shape" : "shape, dtype";
  }
  bool same_values = true;
  if (width_of(t.dtype) == 0 && same_dtype) {
    same_values = std::ranges::equal(a.bytes(t, t.entries.front()), b.bytes(u, u.entries.front()));
  } else if (same_dtype || (has_numbers(t.dtype) && has_numbers(u.dtype))) {
    const Difference d = difference(a.load(t), b.load(u));
    Difference counted = d;  // differences of weights and of indices are not mixed
    if (!is_prunable(t.dtype) || !is_prunable(u.dtype))
      counted.largest = 0, counted.squares = counted.original = {};
    total.add(counted);
    const bool is_mask = t.dtype == DType::BOOL && u.dtype == DType::BOOL;
    if (is_mask) {
      masks.add(d);
      add_overlap(d, r, row);
    }
    has_weights |= is_prunable(t.dtype) && is_prunable(u.dtype);
    same_values = d.changed == 0;
    r.at(row, "changed") = d.changed;
    if (has_numbers(t.dtype)) add_numbers_of(d, r, row, !is_mask);
  }
  a.drop(t);
  b.drop(u);
  other_layouts += same_dtype && same_values && !same_layout;
  if (same_dtype) return same_values ? "" : "values";
  return same_values ? "dtype" : "dtype, values";
}

std::uint64_t tensor_bytes(const Checkpoint& c) {
  std::uint64_t bytes = 0;
  for (const CheckpointTensor& t : c.tensors()) bytes += t.bytes();
  return bytes;
}

}  // namespace

Outcome diff_checkpoints(const std::string& first, const std::string& second,
                         const Patterns& patterns, bool show_progress) {
  if (first == "-" && second == "-") fail_usage("standard input cannot be both A and B");
  const Checkpoint a = Checkpoint::open(first), b = Checkpoint::open(second);
  const std::vector<std::string> names = names_in(a, b);
  const std::vector<bool> chosen =
      TensorNames(names, fmt::format("{} and {}", a.name(), b.name())).chosen(patterns);
  Outcome outcome{diff_report(), std::nullopt};
  Report& r = outcome.report;
  CheckpointDiff diff{a, b, r};
  Progress progress(r.program, tensor_bytes(a) + tensor_bytes(b), show_progress);
  for (std::size_t k = 0; k < names.size(); ++k) {
    if (chosen[k]) or_lack_of_memory(a.name(), names[k], [&] { diff.look_at(names[k]); });
    for (const Checkpoint* c : {&a, &b})
      if (const CheckpointTensor* t = c->find(names[k])) progress.add(t->bytes());
  }
  const Index compared = std::count(chosen.begin(), chosen.end(), true);
  const Index differ = std::ssize(r.rows);
  r.at(r.total, "name") = "total";
  r.at(r.total, "changed") = diff.total.changed;
  add_numbers_of(diff.total, r, r.total, diff.has_weights);
  add_overlap(diff.masks, r, r.total);
  std::string text = fmt::format("{} of {} tensors differ", differ, compared), colon = ":";
  for (const auto& [what, n] : diff.how)
    text += fmt::format("{} {} {}", std::exchange(colon, ";"), n, what);
  r.notes.push_back(text);
  if (diff.other_layouts)
    r.notes.push_back(fmt::format("{} equal tensors have another layout in B", diff.other_layouts));
  r.notes.push_back(fmt::format("A is {}, B is {}", a.name(), b.name()));
  r.facts = {{"a", a.name()}, {"b", b.name()}, {"compared", compared}, {"different", differ}};
  r.figures = {{"different tensors", Unit::count, "different"},
               {"compared tensors", Unit::count, "compared"},
               {"changed values", Unit::count, "total/changed"},
               {"largest difference", Unit::measured, "total/max_difference"}};
  r.charts = {largest_values_chart(r, "changed", "Changed values")};
  if (differ)
    outcome.failure =
        Error(Fault::check, fmt::format("{}; the first is {}", text,
                                        quote(std::get<std::string>(r.rows.front().front()))));
  return outcome;
}

}  // namespace sten
