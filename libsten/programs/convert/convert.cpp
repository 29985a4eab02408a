// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/convert/convert.h"

#include <map>

#include "libsten/core/base/cuda.h"
#include "libsten/core/base/fallback.h"
#include "libsten/core/registry/structure.h"
#include "libsten/files/checkpoint/output_name.h"
#include "libsten/files/checkpoint/weight_names.h"
#include "libsten/files/system/lack_of_memory.h"
#include "libsten/programs/convert/convert_tensor.h"
#include "libsten/programs/convert/smallest_layouts.h"
#include "libsten/programs/measure/storage_counts.h"
#include "libsten/programs/rewrite/axis.h"

namespace sten {
namespace {

constexpr const char* automatic = "auto";

std::optional<Spec> sparsifier_for(const Conversion& request, bool is_in_by_out) {
  if (!request.sparsifier) return std::nullopt;
  return for_matrix(*request.sparsifier, is_in_by_out);
}

// Without --to, only the type of the values changes.
bool changes_layouts(const ConvertOptions& o) {
  return o.to != Spec() || is_gguf_name(o.output.path);
}

Conversion resolve(const ConvertOptions& o) {
  if (!changes_layouts(o) && !o.output.type)
    fail_usage("missing --to LAYOUT, such as --to bitmask");
  const Patterns& p = o.patterns;
  if (!changes_layouts(o) && !(p.include.empty() && p.exclude.empty()))
    fail_usage("{} needs --to LAYOUT: --type is for all matrices",
               p.include.empty() ? "--exclude" : "--include");
  if (o.lossless && o.output.type && o.output.type->dtype != DType::F32)
    fail_usage("--lossless excludes --type {}, which rounds values", o.output.type->name);
  const Spec given = o.to == Spec() ? Spec(Dense::name) : as_structure(o.to);
  if (given.is(automatic)) {
    given.check_keys({});
    return {given, std::nullopt, o.lossless};
  }
  return conversion_to(given, o.lossless);
}

// Leaves out the tensors of a default selection that are vectors if the layout needs rows and columns.
void leave_out_vectors(const Checkpoint& in, const Spec& to, Selection& s) {
  const auto is_vector = [&](std::size_t i) { return in.tensors()[i].shape.size() < 2; };
  Index vectors = 0;
  for (std::size_t i = 0; i < s.why.size(); ++i) vectors += s.chosen[i] && is_vector(i);
  // If all are vectors, the conversion reports the error.
  if (vectors == 0 || vectors == s.count || holds_vectors(to)) return;
  for (std::size_t i = 0; i < s.why.size(); ++i)
    if (s.chosen[i] && is_vector(i)) {
      s.chosen[i] = false;
      s.why[i] = SkipReason::rank;
    }
  s.count -= vectors;
}

// ": 2 bitmask, 1 dense"; "" if empty.
std::string counts_text(const std::map<std::string, Index>& counts) {
  std::string text;
  for (const auto& [what, n] : counts)
    text += fmt::format("{} {} {}", text.empty() ? ":" : ",", n, what);
  return text;
}

// Magnitudes of the kept finite values; without a mask, of all values.
Magnitudes kept_of(const Tensor& from, const std::optional<Mask>& kept) {
  const Dense x = kept ? from.to_dense() : elements_stored(from);
  return finite_magnitudes(x, kept ? *kept : Mask::all(x.extents).to(x.device()));
}

}  // namespace

void check_options(const ConvertOptions& o) { (void)resolve(o); }

std::string layout_in_names(const ConvertOptions& o) {
  return o.to == Spec() ? std::string(Dense::name) : o.to.str();
}

Options deciding_options(const ConvertOptions& o) {
  const Conversion request = resolve(o);
  Options values;
  if (changes_layouts(o)) values.emplace_back("to", request.to.str());
  if (request.sparsifier && request.sparsifier->has("fit"))
    values.emplace_back("fit", std::string(request.sparsifier->word("fit", "")));
  if (o.output.type) values.emplace_back("type", std::string(o.output.type->name));
  if (request.lossless) values.emplace_back("lossless", "true");
  for (const std::string& p : o.patterns.include) values.emplace_back("include", p);
  for (const std::string& p : o.patterns.exclude) values.emplace_back("exclude", p);
  return values;
}

Report convert_report() {
  Report r;
  r.program = "sten-convert";
  r.columns = changed_columns({{"from", "from", Unit::text},
                               {"via", "via", Unit::text},
                               {"stored", "stored", Unit::count}});
  r.optional_columns = {"dtype",        "padding", "via",  "stored",
                        "bytes_before", "fit",     "from", "shape"};
  return r;
}

Outcome convert_checkpoint(const ConvertOptions& o) {
  const Device device = use_device(o.device);
  const Conversion request = resolve(o);
  if (is_onnx_name(o.output.path) && !is_sharded(o.input))  // an ONNX model has no sparse layouts
    check_output_name(o.output.path, Written::checkpoint);
  Rewrite rewrite(o.input, o.output, "sten-convert", deciding_options(o));
  const Checkpoint& in = rewrite.input();
  Selection selection;
  if (changes_layouts(o))
    selection = select_tensors(in, o.patterns, Purpose::convert);
  else
    selection.chosen.resize(in.tensors().size());
  Outcome outcome{convert_report(), std::nullopt};
  Report& r = outcome.report;
  const bool is_auto = request.to.is(automatic);
  if (is_auto && device != Device::cpu) report_on_cpu("which layout takes least", device);
  if (is_auto) r.columns.insert(r.columns.begin() + 4, {"to", "to", Unit::text});
  // Conversions to dense skip dense tensors.
  for (std::size_t i = 0; request.to.is(Dense::name) && i < selection.chosen.size(); ++i)
    if (selection.chosen[i] && !in.tensors()[i].is_sparse()) {
      selection.chosen[i] = false;
      --selection.count;
    }
  if (request.to.is(Dense::name)) selection.why.clear();
  if (!is_auto) leave_out_vectors(in, request.to, selection);
  if (!changes_layouts(o))
    r.notes.push_back("every tensor keeps its layout");
  else if (selection.count == 0 && request.to.is(Dense::name))
    r.notes.push_back("every tensor is dense already");
  else if (selection.count == 0)
    fail_usage(
        "{}: none of the {} tensors is sparse or a weight by its name (choose with --include)",
        in.name(), in.tensors().size());

  const std::vector<bool> are_in_by_out = in_by_out(in, o.input);
  std::vector<std::optional<Spec>> layouts =
      is_auto ? smallest_layouts(in, selection.chosen, o.show_progress)
              : layouts_for(selection, request.to);
  for (std::size_t i = 0; !is_auto && i < layouts.size(); ++i)
    if (layouts[i]) layouts[i] = for_matrix(*layouts[i], are_in_by_out[i]);
  std::vector<std::vector<Cell>> rows(in.tensors().size());
  std::vector<std::string> details(rows.size());
  Index elements = 0, zero = 0, before = 0, after = 0, fitted = 0, grown = 0;
  Magnitudes total;
  std::map<std::string, Index> chosen;  // of auto: tensors per layout
  const auto change = [&](std::size_t i) {
    const CheckpointTensor& t = in.tensors()[i];
    const Tensor source = in.load(t).to(device);
    return with_tensor_name(in.name(), t.name, [&] {
      const Converted c = convert_tensor(
          source, {*layouts[i], sparsifier_for(request, are_in_by_out[i]), request.lossless});
      const StorageCounts storage = storage_counts(c.kept ? c.tensor : source);
      const Index size = size_of(t.shape);
      const auto bytes = static_cast<Index>(c.tensor.bytes());
      auto& row = rows[i];
      add_tensor(r, row, t);
      r.at(row, "from") = t.layout.str();
      if (is_auto) {
        r.at(row, "to") = c.tensor.spec().str();
        ++chosen[std::string(c.tensor.layout())];
      }
      if (!c.via().empty()) r.at(row, "via") = c.via();
      details[i] = fmt::format("{}: {}: {}", printable(t.name), c.route.str(), c.route.reason);
      r.at(row, "stored") = c.kept ? c.kept->count() : storage.stored;
      r.at(row, "sparsity") = share(storage.zeros, size);
      if (request.sparsifier && is_prunable(t.dtype)) {
        const Magnitudes m = kept_of(source, c.kept);
        if (size) r.at(row, "energy") = energy(m);
        total.all += m.all;
        total.kept += m.kept;
        r.at(row, "fit") = c.fit.empty() ? "lossless" : c.fit;
        fitted += !c.fit.empty();
      }
      r.at(row, "bytes_before") = static_cast<Index>(t.bytes());
      r.at(row, "bytes_after") = bytes;
      if (is_structure(*layouts[i])) r.at(row, "padding") = c.tensor.padding();
      add_to(elements, size);
      add_to(zero, storage.zeros);
      before += static_cast<Index>(t.bytes());
      after += bytes;
      grown += !layouts[i]->is(Dense::name) && bytes >= size * width_of(t.dtype) && size > 0;
      return c.tensor.to(Device::cpu);
    });
  };
  rewrite.run(layouts, o.show_progress, [&](std::size_t i) {
    return or_lack_of_memory(in.name(), in.tensors()[i].name, [&] { return change(i); });
  });
  for (const std::size_t i : natural_order(in, selection)) {
    r.rows.push_back(std::move(rows[i]));
    outcome.details.push_back(std::move(details[i]));
  }
  for (std::string& line : skipped_rows(in, selection.why))
    outcome.details.push_back(std::move(line));
  if (changes_layouts(o)) {
    r.at(r.total, "name") = "total";
    r.at(r.total, "sparsity") = share(zero, elements);
    if (request.sparsifier && elements) r.at(r.total, "energy") = energy(total);
    r.at(r.total, "bytes_before") = before;
    r.at(r.total, "bytes_after") = after;
  }
  if (selection.count)
    r.notes.push_back(fmt::format("converted {} of {} tensors to {}{}", selection.count,
                                  in.tensors().size(), request.to.str(), counts_text(chosen)));
  r.add_note(left_alone(selection.why));
  for (std::string& note : axis_notes(layouts, are_in_by_out)) r.notes.push_back(std::move(note));
  if (fitted)
    r.notes.push_back(
        fmt::format("{} of them were pruned to it: energy says what that kept", fitted));
  if (grown) r.notes.push_back(fmt::format("{} of them are not smaller than dense", grown));
  if (selection.skipped)
    r.notes.push_back(fmt::format("{} matched by --include are of rank below 2 and were left",
                                  selection.skipped));
  rewrite.add_notes(r);
  r.facts = {{"input", in.name()},
             {"to", changes_layouts(o) ? request.to.str() : "unchanged"},
             {"selected", selection.count},
             {"skipped", selection.skipped},
             {"file_bytes_before", static_cast<Index>(in.file_bytes())}};
  r.figures = {
      {"file", Unit::bytes, "file_bytes_after", "file_bytes_before", Better::lower},
      {"converted tensors", Unit::bytes, "total/bytes_after", "total/bytes_before", Better::lower},
      {"sparsity", Unit::fraction, "total/sparsity"},
      {"energy", Unit::ratio, "total/energy"}};
  const auto size = static_cast<Index>(rewrite.commit());
  if (!o.output.dry_run) r.facts.emplace_back("file_bytes_after", size);
  return outcome;
}

}  // namespace sten
