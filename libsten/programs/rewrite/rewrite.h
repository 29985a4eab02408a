// SPDX-License-Identifier: Apache-2.0
// Rewriting a checkpoint: reads it once from front to back, and writes it with the chosen tensors
// changed and the others copied byte by byte.
#pragma once
#include <functional>
#include <map>
#include <memory>

#include "libsten/files/checkpoint/checkpoint_output.h"
#include "libsten/files/checkpoint/other_weights.h"
#include "libsten/programs/rewrite/selection.h"
#include "libsten/report/report.h"

namespace sten {

// Destination of the output.
struct OutputOptions {
  std::string path;                 // "-": standard output; empty with dry_run
  bool force = false;               // replace an existing output
  bool dry_run = false;             // compute and report, but write nothing
  bool in_new_folder = false;       // create the folder, except in a dry run
  bool keep_other_weights = false;  // copy a directory's weights in other files, too
  bool writes_graph = true;         // the output of an ONNX model is ONNX, if layouts allow it
  // Of the weights in a .gguf file, and of matrices in other outputs. nullptr: unchanged, but BF16
  // instead of quantized types in other outputs.
  const GgufType* type = nullptr;
};

struct Outcome {
  Report report;
  std::optional<Error> failure;           // printed after the report: a failed check, for instance
  std::vector<std::string> details = {};  // lines for -v
  // The result was printed to standard output; the report goes to standard error.
  bool is_printed = false;
};

// Flags and values in canonical order. A flag may occur several times.
using Options = std::vector<std::pair<std::string, std::string>>;

// "flag=value" of each option, as in provenance.
std::vector<std::string> option_texts(const Options& options);

// Error (usage) for a flag's value outside of [0, 1].
void check_fraction(const char* flag, const std::optional<double>& value);

class Rewrite {
 public:
  // Checks that the output can be written before the input is read. `options`: the options that
  // decide values, for the output's provenance; if empty, provenance gets no new step.
  Rewrite(const std::string& input, OutputOptions output, std::string program, Options options);
  // The thread of the output may still be copying from the input.
  ~Rewrite() { out_.reset(); }
  Rewrite(const Rewrite&) = delete;
  Rewrite& operator=(const Rewrite&) = delete;

  const Checkpoint& input() const { return input_; }
  // Adds the metadata of `of` to the output, except for keys that the input has.
  void add_metadata(const Checkpoint& of);
  // Renames and removes tensors of the input and so of the output; see Checkpoint::rename().
  void rename(const std::function<std::optional<std::string>(const std::string& name)>& name_of) {
    input_.rename(name_of);
  }
  // The shape that run() gives a tensor, other than that of the input.
  void set_shape(std::size_t i, Shape shape) { shapes_.insert_or_assign(i, std::move(shape)); }
  // The text of a companion file of the input, such as config.json, in an output directory.
  void replace_companion(const std::string& name, std::string text);
  // Error if the output cannot store the tensors in the layouts `to`. run() starts with this check,
  // which callers can do earlier.
  void check(const std::vector<std::optional<Spec>>& to) const;
  // Calls change(index in input().tensors()) for each tensor with a layout in `to`, the layout of
  // the result. Copies all other tensors.
  void run(const std::vector<std::optional<Spec>>& to, bool show_progress,
           const std::function<Tensor(std::size_t)>& change);
  // Adds notes to r: the part of a pipeline that was read, and weights in other files of a
  // directory that the output lacks.
  void add_notes(Report& r) const;
  // Commits the output, and `beside` with it. Returns the size of the files; 0 in a dry run.
  std::uint64_t commit(Output* beside = nullptr);

 private:
  std::vector<TensorInfo> contents(const std::vector<std::optional<Spec>>& to) const;
  // --type, and the dtype of a GGUF file's weights, in an output of another format.
  void set_dtype();
  bool writes_onnx() const;

  OutputOptions options_;
  std::string program_;
  Options values_;
  std::unique_ptr<CheckpointOutput> out_;  // before input_, to fail early
  Checkpoint input_;
  LeftBehind left_;  // in the input's directory
  Metadata more_metadata_;
  std::map<std::size_t, Shape> shapes_;
  std::size_t rounded_ = 0;  // tensors
};

// The layout `to` for each chosen tensor.
std::vector<std::optional<Spec>> layouts_for(const Selection& s, const Spec& to);

// The metadata with one more step of provenance.
Metadata with_provenance(Metadata metadata, const std::string& program, const Options& options);

// The columns of a report on changed tensors: `before`, then sparsity, energy, bytes, padding and
// fit, then `after`.
std::vector<Column> changed_columns(const std::vector<Column>& before,
                                    const std::vector<Column>& after = {});

// Indices of tensors in natural order of names, as in reports.
std::vector<std::size_t> natural_order(const Checkpoint& c, const Selection& s);

}  // namespace sten
