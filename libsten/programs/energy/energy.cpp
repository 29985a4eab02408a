// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/energy/energy.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "libsten/core/base/cuda.h"
#include "libsten/core/base/fallback.h"
#include "libsten/core/layout/bitmask.h"
#include "libsten/core/layout/compressed.h"
#include "libsten/core/registry/registry.h"
#include "libsten/core/registry/structure.h"
#include "libsten/files/checkpoint/output_name.h"
#include "libsten/files/checkpoint/output_paths.h"
#include "libsten/files/checkpoint/shards.h"
#include "libsten/files/checkpoint/weight_names.h"
#include "libsten/files/system/lack_of_memory.h"
#include "libsten/files/system/paths.h"
#include "libsten/programs/measure/energy_sums.h"
#include "libsten/programs/rewrite/axis.h"
#include "libsten/programs/rewrite/batch_manifest.h"
#include "libsten/programs/rewrite/rules.h"
#include "libsten/report/progress.h"

namespace sten {
namespace {

namespace fs = std::filesystem;

// Whether reports for people have a column for the layout.
bool has_column(std::string_view layout) {
  return layout == Dense::name || layout == Bitmask::name || layout == Csr::name;
}

std::vector<Cell> row_of(const Report& r, const Sums& s, bool with_energy) {
  std::vector<Cell> row;
  r.at(row, "nnz") = s.nnz;
  r.at(row, "sparsity") = share(s.zeros, s.elements);
  if (with_energy && s.elements) {
    r.at(row, "energy") = energy(s.original);
    if (s.changed) r.at(row, "l1_ratio") = s.original.all > 0 ? ratio(s.l1, s.original.all) : 1.0;
  }
  r.at(row, "bytes") = s.bytes;
  const auto layouts = registry().layouts();
  for (std::size_t l = 0; l < s.as.size(); ++l)
    if (s.as[l]) r.at(row, fmt::format("bytes_{}", layouts[l].name)) = *s.as[l];
  return row;
}

// Measures a vector as a matrix of one row, in the layouts that hold vectors.
Sums measure_vector(const CheckpointTensor& t, const Tensor& tensor, const Weights& w,
                    Device device) {
  Weights row = w;
  row.stored.extents = row.stored.mask.extents = {1, size_of(t.shape)};
  Sums s = measure(t, tensor, row, {}, device);
  const auto layouts = registry().layouts();
  for (std::size_t l = 0; l < s.as.size(); ++l)
    if (!holds_vectors(layouts[l].spec)) s.as[l].reset();
  return s;
}

// "in other layouts: masked 5.07 MB, ...": layouts without a column in reports for people.
std::string all_sizes(const LayoutBytes& as) {
  std::string text;
  const auto layouts = registry().layouts();
  for (std::size_t l = 0; l < as.size(); ++l)
    if (as[l] && !has_column(layouts[l].name))
      text += fmt::format("{}{} {}", text.empty() ? "in other layouts: " : ", ",
                          sized_as(layouts[l]), human_bytes(static_cast<std::uint64_t>(*as[l])));
  return text;
}

// Checks --require: structures that tensors must have, and the violations.
class Requirements {
 public:
  // Error (usage) for a text that is not a pattern, or matches no tensor that can have the
  // structure.
  Requirements(const std::vector<std::string>& texts, const Checkpoint& in,
               const std::string& input)
      : of_(in.tensors().size()) {
    if (texts.empty()) return;
    const std::vector<bool> are_in_by_out = in_by_out(in, input);
    std::vector<bool> skipped(of_.size());
    for (const std::string& text : texts) {
      for (const Rule& one : split_rule(parse(text))) {
        bool any = false;
        for_each_match(in, one.pattern, "--require", [&](std::size_t i) {
          const CheckpointTensor& t = in.tensors()[i];
          const bool fits = t.shape.size() >= 2;
          // A stored layout knows its axis.
          const auto stored = axis_of(t.layout);
          if (fits)
            of_[i].push_back(
                for_matrix(one.spec, stored ? stored != axis_of(one.spec) : are_in_by_out[i]));
          any |= fits;
          skipped[i] = !fits;
        });
        if (!any)
          fail_usage("--require {} matches only tensors of rank below 2: expected 2 or more",
                     quote(one.pattern));
      }
    }
    skipped_ = std::count(skipped.begin(), skipped.end(), true);
  }
  static Rule parse(const std::string& text) {
    Rule rule = parse_rule(text, "--require");
    rule.spec = as_structure(rule.spec);
    if (!is_structure(rule.spec))
      fail_usage("--require {}: expected {}, such as 2:4", quote(text),
                 fmt::join(structures(), " or "));
    rule.spec = registry().canonical(rule.spec);
    return rule;
  }
  Index skipped() const { return skipped_; }
  bool concerns(std::size_t i) const { return !of_[i].empty(); }
  const std::vector<Spec>& of(std::size_t i) const { return of_[i]; }
  void check(std::size_t i, const std::string& name, const Positions& nonzero) {
    for (const Spec& pattern : of_[i])
      if (const auto why = breach(nonzero, pattern)) {
        constexpr Index most = 3;  // names in one line
        if (++broken_ <= most) text_ += fmt::format("; {}: {}", quote(name), *why);
        if (broken_ == most + 1) text_ += "; ...";
      }
  }
  std::optional<Error> failure() const {
    if (!broken_) return std::nullopt;
    return Error(Fault::check, fmt::format("{} of the required patterns {} violated{}", broken_,
                                           broken_ == 1 ? "is" : "are", text_));
  }

 private:
  std::vector<std::vector<Spec>> of_;
  Index broken_ = 0, skipped_ = 0;
  std::string text_;
};

// Whether a directory is one checkpoint, not a folder of several that happens to have a single
// safetensors file.
bool is_one_checkpoint(const std::string& directory) {
  try {
    const ShardIndex index = find_shards(directory);
    const std::string file = plain_name(index.files.front());
    if (!index.index.empty() || !index.folder.empty() || file == "model.safetensors") return true;
    std::error_code none;
    std::set<std::string> names;  // a.bin beside a.safetensors is the same checkpoint
    for (const auto& entry : fs::directory_iterator(directory, none))
      if (std::string name = result_name(entry.path().filename(), false, "");
          name.ends_with(".safetensors"))
        names.insert(std::move(name));
    return names.size() == 1;
  } catch (const Error&) {
    return false;
  }
}

// If `against` has several files, takes the input that the manifest of the input's batch names, if
// there is a manifest.
void use_original_of_manifest(const std::string& input, const std::string& against,
                              std::vector<std::string>& files) {
  const fs::path output = resolved(input);
  const BatchManifest record(output.parent_path());
  const BatchEntry* entry = record.find(output.filename());
  if (!entry) return;
  for (const std::string& file : files)
    if (checkpoint_checksum(fs::path(against) / file, true) == entry->input) {
      files = std::vector{file};
      return;
    }
}

}  // namespace

void check_options(const EnergyOptions& o) {
  if (o.min_energy && o.against.empty()) fail_usage("--min-energy needs --against ORIGINAL");
  check_fraction("--min-energy", o.min_energy);
  check_fraction("--min-sparsity", o.min_sparsity);
  for (const std::string& text : o.require) (void)Requirements::parse(text);
}

// Not shared with sten-convert, whose columns of the same names differ in meaning or place.
Report energy_report() {
  Report r;
  r.program = "sten-energy";
  r.columns = {{"name", "tensor", Unit::text},
               {"shape", "shape", Unit::shape},
               {"dtype", "dtype", Unit::text},
               {"layout", "layout", Unit::text},
               {"nnz", "nnz", Unit::count},
               {"sparsity", "sparsity", Unit::fraction},
               {"patterns", "patterns", Unit::text},
               {"energy", "energy", Unit::ratio},
               {"l1_ratio", "|new|/|old|", Unit::ratio},
               {"bytes", "bytes", Unit::bytes}};
  for (const auto& layout : registry().layouts())
    r.columns.push_back(
        {fmt::format("bytes_{}", layout.name), layout.name, Unit::bytes, !has_column(layout.name)});
  r.columns.push_back(module_column);
  r.optional_columns = {"dtype", "bytes_csr", "bytes_dense", "l1_ratio", "bytes_bitmask",
                        "nnz",   "layout",    "shape",       "bytes"};
  return r;
}

std::string original_of(const std::string& input, const std::string& against) {
  std::error_code none;
  if (!fs::is_directory(against, none) || is_stream(input)) return against;
  const std::string name = resolved(input).filename();
  const auto is_other = [&](const fs::path& path) { return !fs::equivalent(path, input, none); };
  const fs::path same = fs::path(against) / name;
  if (fs::exists(same, none) && is_other(same)) return same;
  std::vector<std::string> found;
  for (const auto& entry : fs::directory_iterator(against, none)) {
    const std::string file = entry.path().filename();
    if (entry.is_regular_file(none) && result_name(file, false, "") == plain_name(name) &&
        is_other(entry.path()))
      found.push_back(file);
  }
  std::ranges::sort(found);
  if (found.size() > 1) use_original_of_manifest(input, against, found);
  if (found.size() == 1) return fs::path(against) / found.front();
  if (found.size() > 1)
    fail_usage("{}: the directory has two originals of {}: {} and {} (name one)",
               printable(against), quote(name), quote(found[0]), quote(found[1]));
  if (!is_one_checkpoint(against))
    fail_usage("{}: no original of {} found: expected a checkpoint of that name",
               printable(against), quote(name));
  return against;
}

Outcome measure_energy(const EnergyOptions& o) {
  const Device device = use_device(o.device);
  if (device != Device::cpu) report_on_cpu("bytes in each layout and n:m patterns", device);
  check_options(o);
  if (o.input == "-" && o.against == "-")
    fail_usage("standard input cannot be both the input and the original");
  const Checkpoint in = Checkpoint::open(o.input);
  std::optional<Checkpoint> against;
  if (!o.against.empty()) against = Checkpoint::open(original_of(o.input, o.against));
  const Selection selection = select_tensors(in, o.patterns, Purpose::convert);
  if (selection.count == 0)
    fail_usage(
        "{}: none of the {} tensors is sparse or a weight by its name (choose with --include)",
        in.name(), in.tensors().size());

  Requirements required(o.require, in, o.input);
  Outcome outcome{energy_report(), std::nullopt};
  Report& r = outcome.report;
  std::vector<std::vector<Cell>> rows(in.tensors().size());
  Sums total;
  Index zeros_wanted = 0;  // for --min-sparsity
  std::uint64_t all_bytes = 0;
  for (const CheckpointTensor& t : in.tensors()) all_bytes += t.bytes();
  Progress progress("sten-energy", all_bytes, o.show_progress);
  const auto look_at = [&](std::size_t i) {
    const CheckpointTensor& t = in.tensors()[i];
    const Tensor tensor = in.load(t);
    const Weights w(tensor);
    required.check(i, t.name, w.nonzero);
    if (!selection.chosen[i]) return;
    const std::vector<Pattern> held = held_patterns(w.nonzero);
    Sums s = t.shape.size() < 2 ? measure_vector(t, tensor, w, device)
                                : measure(t, tensor, w, held, device);
    if (against) {
      if (!is_prunable(t.dtype))
        fail("{}: {}: expected a dtype with magnitudes, got {}", in.name(), quote(t.name),
             name_of(t.dtype));
      compare(s, in, *against, t, tensor, w, device);
    }
    rows[i] = row_of(r, s, against.has_value());
    add_tensor(r, rows[i], t);
    r.at(rows[i], "layout") = t.layout.str();
    if (const std::string patterns = strictest(held); !patterns.empty())
      r.at(rows[i], "patterns") = patterns;
    total.add(s);
    if (!o.min_sparsity) return;
    std::vector<Spec> structures = required.of(i);
    if (is_structure(t.layout)) structures.push_back(t.layout);
    for (const Pattern& p : held) structures.push_back(p.layout());
    add_to(zeros_wanted, zeros_asked(*o.min_sparsity, s, structures));
  };
  for (const std::size_t i : in.data_order()) {
    const CheckpointTensor& t = in.tensors()[i];
    progress.add(t.bytes());
    if (!selection.chosen[i] && !required.concerns(i)) continue;
    or_lack_of_memory(in.name(), t.name, [&] { look_at(i); });
    in.drop(t);
  }
  for (const std::size_t i : natural_order(in, selection)) r.rows.push_back(std::move(rows[i]));
  r.total = row_of(r, total, against.has_value());
  r.at(r.total, "name") = "total";
  r.notes.push_back(fmt::format("{} of {} tensors; the file has {}", selection.count,
                                in.tensors().size(), human_bytes(in.file_bytes())));
  r.add_note(in.part_taken());
  r.add_note(left_alone(selection.why));
  outcome.details = skipped_rows(in, selection.why);
  r.notes.push_back(all_sizes(total.as));
  if (selection.skipped)
    r.notes.push_back(fmt::format("{} matched by --include are of rank below 2 and were left out",
                                  selection.skipped));
  if (required.skipped())
    r.notes.push_back(fmt::format("{} matched by --require are of rank below 2 and were left out",
                                  required.skipped()));
  if (!against) r.notes.push_back("energy needs the original: --against FILE");
  r.facts = {{"input", in.name()},
             {"selected", selection.count},
             {"skipped", selection.skipped},
             {"file_bytes", static_cast<Index>(in.file_bytes())}};
  if (against) r.facts.insert(r.facts.begin() + 1, {"against", against->name()});
  r.figures = {{"energy", Unit::ratio, "total/energy"},
               {"sparsity", Unit::fraction, "total/sparsity"},
               {"these tensors", Unit::bytes, "total/bytes", "total/bytes_dense", Better::lower},
               {"file", Unit::bytes, "file_bytes"}};
  // One threshold for all tensors rounds only once.
  if (o.min_sparsity)
    zeros_wanted = std::min(zeros_wanted, zeros_of(*o.min_sparsity, total.elements));
  if (o.min_energy && !(energy(total.original) >= *o.min_energy))
    outcome.failure = Error(Fault::check, fmt::format("energy {:.6f} is below --min-energy {}",
                                                      energy(total.original), *o.min_energy));
  else if (total.zeros < zeros_wanted)
    outcome.failure =
        Error(Fault::check, fmt::format("sparsity {:.6f} is below --min-sparsity {} by {} zeros",
                                        share(total.zeros, total.elements), *o.min_sparsity,
                                        zeros_wanted - total.zeros));
  else
    outcome.failure = required.failure();
  return outcome;
}

}  // namespace sten
