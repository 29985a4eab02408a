// SPDX-License-Identifier: Apache-2.0
#include "apps/batch_options.h"

#include "libsten/core/base/error.h"
#include "libsten/core/base/text.h"

namespace sten::app {

void add_inputs(CLI::App& app, ManyInputs& many, const std::string& details) {
  app.add_option("IN", many.inputs,
                 "Checkpoint: a safetensors, PyTorch, ONNX or GGUF file, a Hugging Face directory, "
                 "an index file, or - for standard input\n" +
                     details)
      ->required();
}

void add_keep_going(CLI::App& app, ManyInputs& many) {
  app.add_flag("--keep-going", many.keep_going, "Continue with the next input after a failure")
      ->group(groups::batches);
}

void add_batch(CLI::App& app, ManyInputs& many) {
  app.add_option("--out-dir", many.out_dir,
                 "Write each result to DIR under the input's name\n"
                 "The companions of an input file (config.json, tokenizer, ...) are copied, too.")
      ->type_name("DIR")
      ->group(groups::batches);
  add_keep_going(app, many);
  app.add_flag("--skip-existing")
      ->description(
          "Skip inputs with an existing output that was made from the same input and options\n"
          "An output of another input or other options is an error; --skip-existing=any skips "
          "this comparison.")
      ->each([&many](const std::string& value) {
        if (value != "any" && value != "true")
          throw CLI::ValidationError("--skip-existing",
                                     "expected any, or no value, got " + quote(value));
        many.skip_existing = value == "any" ? SkipExisting::any : SkipExisting::same;
      })
      ->group(groups::batches);
}

bool is_batch(const ManyInputs& many, const OutputOptions& output) {
  if (!many.out_dir.empty()) {
    if (!output.path.empty()) fail_usage("-o and --out-dir exclude each other");
    return true;
  }
  if (many.inputs.size() > 1)
    fail_usage("{} inputs need --out-dir{}", many.inputs.size(),
               many.inputs.size() == 2 && output.path.empty()
                   ? " (or -o before the output: -o " + quote(many.inputs.back()) + ")"
                   : "");
  if (many.keep_going || many.skip_existing != SkipExisting::no)
    fail_usage("--keep-going and --skip-existing belong to --out-dir");
  if (output.path.empty() && !output.dry_run)
    fail_usage("missing -o FILE, the output (or --dry-run)");
  return false;
}

void print_errors(ManyInputs& many, const char* program) {
  many.on_error = [program](const Error& e) { print_line(program, e.what()); };
}

}  // namespace sten::app
