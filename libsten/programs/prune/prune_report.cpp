// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/prune/prune_report.h"

#include <cmath>

#include "libsten/core/base/text.h"
#include "libsten/core/layout/masked.h"
#include "libsten/core/registry/structure.h"
#include "libsten/programs/rewrite/axis.h"

namespace sten {

Report prune_report() {
  Report r;
  r.program = "sten-prune";
  r.columns = changed_columns({{"rule", "rule", Unit::text},
                               {"elements", "elements", Unit::count},
                               {"kept", "kept", Unit::count}},
                              {{"error_before", "masked", Unit::ratio},
                               {"error", "error", Unit::ratio},
                               {"reordered", "reordered", Unit::text},
                               {"energy_unordered", "unordered", Unit::ratio}});
  r.optional_columns = {"dtype", "padding", "elements", "kept",     "bytes_before",
                        "fit",   "rule",    "shape",    "reordered"};
  return r;
}

PruneSummary::PruneSummary(const PruneRequest& request, const Rewrite& rewrite,
                           const PrunePlan& plan)
    : request_(request), rewrite_(rewrite), plan_(plan), rows_(plan.tensors.size()) {}

void PruneSummary::add(std::size_t i, const Dense& x, const Mask& keep, const Tensor& after,
                       const Magnitudes& m, Index zero) {
  const CheckpointTensor& t = rewrite_.input().tensors()[i];
  const TensorPlan& how = *plan_.tensors[i];
  const Index positions = keep.count(), n = x.size(), kept = n - zero;
  const auto before = static_cast<Index>(t.bytes()), bytes = static_cast<Index>(after.bytes());
  auto& row = rows_[i];
  const Report& r = report_;
  add_tensor(r, row, t);
  if (request_.has_rules()) r.at(row, "rule") = how.sparsifier.str();
  r.at(row, "elements") = n;
  r.at(row, "kept") = kept;
  r.at(row, "sparsity") = share(zero, n);
  if (n) r.at(row, "energy") = energy(m);
  r.at(row, "bytes_before") = before;
  r.at(row, "bytes_after") = bytes;
  if (is_structure(how.to)) r.at(row, "padding") = after.padding();
  if (!how.fit.empty()) r.at(row, "fit") = how.fit;
  total_.elements += n;
  total_.kept += kept;
  total_.zeros += zero;
  total_.kept_zeros += positions - kept;
  total_.bytes_before += before;
  total_.bytes_after += bytes;
  const bool dense = has_dense_values(how.to);
  total_.same_size += dense;
  total_.grown += !dense && bytes >= static_cast<Index>(x.values.bytes().size()) && n > 0;
  total_.bitmask += ceil_div(n, 8) + positions * x.values.width();
  total_.magnitudes.all += m.all;
  total_.magnitudes.kept += m.kept;
}

void PruneSummary::add_errors(std::size_t i, double before, double after) {
  if (std::isnan(after)) return;
  report_.at(rows_[i], "error_before") = before;
  report_.at(rows_[i], "error") = after;
  has_errors_ = true;
}

Report PruneSummary::finish(const std::optional<GlobalThreshold::Counts>& threshold,
                            const Reordering& reordering) {
  Report r = std::move(report_);
  add_permutation(r, reordering);
  for (const std::size_t i : plan_.order) r.rows.push_back(std::move(rows_[i]));
  r.at(r.total, "name") = "total";
  r.at(r.total, "elements") = total_.elements;
  r.at(r.total, "kept") = total_.kept;
  r.at(r.total, "sparsity") = share(total_.zeros, total_.elements);
  if (total_.elements) r.at(r.total, "energy") = kept_energy();
  r.at(r.total, "bytes_before") = total_.bytes_before;
  r.at(r.total, "bytes_after") = total_.bytes_after;
  add_notes(r, threshold, reordering);
  const WholeModel whole = whole_model();
  r.notes.push_back(whole.note());
  const Checkpoint& in = rewrite_.input();
  r.facts = {{"input", in.name()},
             {"sparsifier", request_.text()},
             {"to", request_.to().str()},
             {"scope", name_of(request_.scope())},
             {"selected", plan_.chosen()},
             {"skipped", plan_.skipped},
             {"model_elements", whole.elements},
             {"model_sparsity", whole.sparsity()},
             {"model_bytes_before", whole.bytes_before},
             {"model_bytes_after", whole.bytes_after},
             {"file_bytes_before", static_cast<Index>(in.file_bytes())}};
  r.figures = {
      {"energy", Unit::ratio, "total/energy"},
      {"sparsity", Unit::fraction, "total/sparsity"},
      {"sparsity of the model", Unit::fraction, "model_sparsity"},
      {"pruned tensors", Unit::bytes, "total/bytes_after", "total/bytes_before", Better::lower},
      {"file", Unit::bytes, "file_bytes_after", "file_bytes_before", Better::lower}};
  const TensorOptions& o = request_.options().tensors;
  if (o.method == PruneMethod::gradient && !o.structure.is("unstructured"))
    r.facts.emplace_back("method", name_of(o.method));
  return r;
}

// The original order's energy is known if the permutation was chosen by kept magnitude.
void PruneSummary::add_permutation(Report& r, const Reordering& reordering) {
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    if (rows_[i].empty() || !reordering.moves(i)) continue;
    r.at(rows_[i], "reordered") = std::string(!reordering.moves_columns(i) ? "rows"
                                              : !reordering.moves_rows(i)  ? "columns"
                                                                           : "rows and columns");
    const TensorPlan& how = *plan_.tensors[i];
    if (reordering.moves_rows(i) && !how.calibrated && !how.by_gradient)
      r.at(rows_[i], "energy_unordered") = reordering.order(i).before;
  }
}

void PruneSummary::add_file(Report& r, Index bytes) const {
  r.facts.emplace_back("file_bytes_after", bytes);
  r.notes.back() +=
      fmt::format("; file {} before, {} after", human_bytes(rewrite_.input().file_bytes()),
                  human_bytes(static_cast<std::uint64_t>(bytes)));
}

WholeModel PruneSummary::whole_model() const {
  WholeModel w =
      left_alone(rewrite_.input(), [&](std::size_t i) { return plan_.tensors[i].has_value(); });
  add_to(w.elements, total_.elements);
  add_to(w.zeros, total_.zeros);
  w.bytes_before += total_.bytes_before;
  w.bytes_after += total_.bytes_after;
  return w;
}

void PruneSummary::add_notes(Report& r, const std::optional<GlobalThreshold::Counts>& threshold,
                             const Reordering& reordering) const {
  std::string first =
      fmt::format("pruned {} of {} tensors", plan_.chosen(), rewrite_.input().tensors().size());
  if (plan_.skipped)
    first += fmt::format("; {} matched by {} cannot be pruned and were left as they are",
                         plan_.skipped, request_.has_rules() ? "--include or a rule" : "--include");
  r.notes.push_back(first);
  r.add_note(left_alone(plan_.why));
  std::vector<std::optional<Spec>> specs(plan_.tensors.size());
  for (const std::size_t i : plan_.order) specs[i] = plan_.tensors[i]->sparsifier;
  for (std::string& note : axis_notes(specs, plan_.transposed)) r.notes.push_back(std::move(note));
  if (const std::size_t n = reordering.firsts().size()) {
    const std::size_t biases = reordering.biases();
    r.notes.push_back(fmt::format(
        "rows of {} weight{} reordered, and columns of the next{}", n, n == 1 ? "" : "s",
        biases ? fmt::format(", with {} bias{}", biases, biases == 1 ? "" : "es") : ""));
    r.legends.emplace_back("energy_unordered", "unordered: the energy without reordering");
  }
  if (const auto& t = threshold)
    r.notes.push_back(fmt::format("one threshold: {} of the {} {} of {} tensors removed",
                                  t->dropped, t->elements, t->of_blocks ? "blocks" : "weights",
                                  t->tensors));
  if (const std::size_t more = plan_.tied.size() - 1; !plan_.tied.empty())
    r.notes.push_back(
        plan_.tied.front() +
        (more == 0 ? "" : fmt::format(", and {} more pair{},", more, more == 1 ? "" : "s")) +
        " are probably tied: their values are the same");
  if (total_.kept_zeros)
    r.notes.push_back(fmt::format("{} unpruned elements were 0 before, and do not count as kept{}",
                                  total_.kept_zeros,
                                  total_.same_size == plan_.chosen() ? "" : "; they are stored"));
  if (total_.same_size == plan_.chosen() && total_.bitmask < total_.bytes_before)
    r.notes.push_back(
        fmt::format("output is {}; --to bitmask gives {} for these tensors",
                    request_.to().is(Masked::name) ? "masked, not smaller" : "dense, same size",
                    human_bytes(total_.bitmask)));
  if (total_.grown)
    r.notes.push_back(fmt::format("{} of {} tensors are not smaller as {} than dense", total_.grown,
                                  plan_.chosen(), request_.to().str()));
  if (has_errors_)
    r.legends.emplace_back(
        "error",
        "error: of a layer's outputs on the calibration data, as a share of their squares; masked: "
        "with the kept weights as they were");
  rewrite_.add_notes(r);
}

}  // namespace sten
