// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/batch/list_tensors.h"

#include "libsten/files/system/lack_of_memory.h"
#include "libsten/programs/measure/storage_counts.h"
#include "libsten/report/progress.h"

namespace sten {
namespace {

struct Listed {
  std::vector<std::vector<Cell>> rows;
  Index elements = 0, zeros = 0, bytes = 0, tensors = 0;
  std::uint64_t file_bytes = 0;
};

// A dtype whose elements are not addressable has no sparsity.
Listed list_input(const std::string& input, const Report& r, const Patterns& patterns,
                  bool show_progress) {
  const Checkpoint in = Checkpoint::open(input);
  Selection selection;
  selection.chosen = TensorNames(in).chosen(patterns);
  Listed listed;
  listed.tensors = std::ssize(in.tensors());
  listed.file_bytes = in.file_bytes();
  std::uint64_t all_bytes = 0;
  for (const CheckpointTensor& t : in.tensors()) all_bytes += t.bytes();
  Progress progress(r.program, all_bytes, show_progress);
  std::vector<std::vector<Cell>> rows(in.tensors().size());
  for (const std::size_t i : in.data_order()) {
    const CheckpointTensor& t = in.tensors()[i];
    progress.add(t.bytes());
    if (!selection.chosen[i]) continue;
    r.at(rows[i], "name") = t.name;
    r.at(rows[i], "shape") = t.shape;
    r.at(rows[i], "dtype") = std::string(name_of(t.dtype));
    r.at(rows[i], "layout") = t.layout.str();
    r.at(rows[i], "bytes") = static_cast<Index>(t.bytes());
    add_to(listed.bytes, static_cast<Index>(t.bytes()));
    if (width_of(t.dtype) == 0) continue;
    const Index elements = size_of(t.shape);
    const Index zeros =
        or_lack_of_memory(in.name(), t.name, [&] { return storage_counts(in.load(t)).zeros; });
    r.at(rows[i], "sparsity") = share(zeros, elements);
    add_to(listed.elements, elements);
    add_to(listed.zeros, zeros);
    in.drop(t);
  }
  for (const std::size_t i : natural_order(in, selection))
    listed.rows.push_back(std::move(rows[i]));
  return listed;
}

}  // namespace

Outcome list_tensors(const ManyInputs& many, const Patterns& patterns, bool show_progress) {
  Outcome outcome;
  Report& r = outcome.report;
  r.program = "sten-energy";
  r.columns = {{"name", "tensor", Unit::text},  {"shape", "shape", Unit::shape},
               {"dtype", "dtype", Unit::text},  {"layout", "layout", Unit::text},
               {"bytes", "bytes", Unit::bytes}, {"sparsity", "sparsity", Unit::fraction}};
  const bool several = many.inputs.size() > 1;
  if (several) r.columns.push_back({"input", "input", Unit::text});
  Listed all;
  Index failed = 0;
  for (const std::string& input : many.inputs) {
    try {
      Listed listed = list_input(input, r, patterns, show_progress);
      for (auto& row : listed.rows) {
        if (several) r.at(row, "input") = input;
        r.rows.push_back(std::move(row));
      }
      add_to(all.elements, listed.elements);
      add_to(all.zeros, listed.zeros);
      add_to(all.bytes, listed.bytes);
      all.tensors += listed.tensors;
      all.file_bytes += listed.file_bytes;
    } catch (const Error& e) {
      if (!many.keep_going) throw;
      ++failed;
      if (many.on_error) many.on_error(e);
    }
  }
  r.at(r.total, "name") = "total";
  r.at(r.total, "bytes") = all.bytes;
  r.at(r.total, "sparsity") = share(all.zeros, all.elements);
  r.notes.push_back(fmt::format("{} of {} tensors; the file{} {}", r.rows.size(), all.tensors,
                                several ? "s have" : " has", human_bytes(all.file_bytes)));
  if (!several) r.facts = {{"input", many.inputs.front()}};
  r.facts.emplace_back("file_bytes", static_cast<Index>(all.file_bytes));
  r.figures = {{"tensors", Unit::bytes, "total/bytes"},
               {"sparsity", Unit::fraction, "total/sparsity"},
               {"file", Unit::bytes, "file_bytes"}};
  if (failed) {
    r.failure = fmt::format("{} of {} inputs failed", failed, many.inputs.size());
    outcome.failure = Error(Fault::input, "");  // each failure was reported as it happened
  }
  return outcome;
}

}  // namespace sten
