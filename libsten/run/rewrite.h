// The way of every program that changes a checkpoint: read it once from front to back, write it
// anew, the chosen tensors changed and all others bytewise.
#pragma once
#include <functional>
#include <memory>

#include "libsten/io/checkpoint_output.h"
#include "libsten/io/other_weights.h"
#include "libsten/report/report.h"
#include "libsten/run/selection.h"

namespace sten {

// Where results go.
struct OutputOptions {
  std::string path;                 // "-" is standard output; empty with dry_run
  bool force = false;               // the result of an earlier run may be replaced
  bool dry_run = false;             // everything is computed and reported, nothing written
  bool in_new_folder = false;       // which a dry run does not make
  bool keep_other_weights = false;  // a directory's weights in other files are copied too
  bool writes_graph = true;         // what comes of an ONNX model is one, where layouts allow it
};

struct Outcome {
  Report report;
  std::optional<Error> failure;  // to be said after the report: a check that did not hold, say
  std::vector<std::string> details = {};  // lines for those who ask for more
};

// Flags and their values, in canonical order; a flag may come several times.
using Options = std::vector<std::pair<std::string, std::string>>;

// "flag=value" of each, as provenance has them.
std::vector<std::string> option_texts(const Options& options);

// Error (usage) for a flag's value that is not within [0, 1].
void check_fraction(const char* flag, const std::optional<double>& value);

class Rewrite {
 public:
  // Checks that the output can be written before the input is read. `options`, those that decide
  // values, go into the output's provenance; without any, provenance gets no new step.
  Rewrite(const std::string& input, OutputOptions output, std::string program, Options options);
  // The output's thread may still be copying from the input.
  ~Rewrite() { out_.reset(); }
  Rewrite(const Rewrite&) = delete;
  Rewrite& operator=(const Rewrite&) = delete;

  const Checkpoint& input() const { return input_; }
  // The output has this metadata, too, where the input has none under the same key.
  void add_metadata(const Checkpoint& of);
  // Error where the output cannot take the tensors in the layouts they will have; what run() begins
  // with, for those who have other work before it.
  void check(const std::vector<std::optional<Spec>>& to) const;
  // Calls change(number in input().tensors()) for the tensors that have a layout in `to`, which is
  // what they will be in; the others are copied.
  void run(const std::vector<std::optional<Spec>>& to, bool show_progress,
           const std::function<Tensor(std::size_t)>& change);
  // Says in notes which part of a pipeline this is, and which weights in other files of a directory
  // are not in the output.
  void add_notes(Report& r) const;
  // Puts the output in place, together with another one. The size of its files, or of the tensors
  // alone if nothing is written.
  std::uint64_t commit(Output* beside = nullptr);

 private:
  std::vector<TensorInfo> contents(const std::vector<std::optional<Spec>>& to) const;

  OutputOptions options_;
  std::string program_;
  Options values_;
  std::unique_ptr<CheckpointOutput> out_;  // before input_: a hopeless output is found first
  Checkpoint input_;
  LeftBehind left_;  // of its directory
  Metadata more_metadata_;
  std::uint64_t bytes_ = 0;
};

// The layout `to` for the chosen tensors.
std::vector<std::optional<Spec>> layouts_for(const Selection& s, const Spec& to);

// The metadata with one more step in its provenance.
Metadata with_provenance(Metadata metadata, const std::string& program, const Options& options);

// The columns of a report on changed tensors: `before` describes the tensor before its sparsity, energy,
// bytes, padding and fit, `after` follows them.
std::vector<Column> changed_columns(const std::vector<Column>& before,
                                    const std::vector<Column>& after = {});

// Numbers of tensors in natural order of their names: how reports list them.
std::vector<std::size_t> natural_order(const Checkpoint& c, const Selection& s);

}  // namespace sten
