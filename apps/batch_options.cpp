#include "apps/batch_options.h"

#include "libsten/base/error.h"
#include "libsten/base/text.h"

namespace sten::app {

void add_keep_going(CLI::App& app, ManyInputs& many) {
  app.add_flag("--keep-going", many.keep_going, "Go on with the next input after one failed")
      ->group(groups::batches);
}

void add_batch(CLI::App& app, ManyInputs& many) {
  app.add_option("--out-dir", many.out_dir,
                 "Write each input's result there, under the input's name, with config.json, "
                 "tokenizer and other companions of inputs that are files")
      ->type_name("DIR")
      ->group(groups::batches);
  add_keep_going(app, many);
  app.add_flag("--skip-existing")
      ->description(
          "Leave outputs alone that the same input and options made, and fail where "
          "others made them; --skip-existing=any does not compare")
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
                   ? "; an output follows -o: -o " + quote(many.inputs.back())
                   : "");
  if (many.keep_going || many.skip_existing != SkipExisting::no)
    fail_usage("--keep-going and --skip-existing belong to --out-dir");
  if (output.path.empty() && !output.dry_run)
    fail_usage("-o is missing: the file to write, or --dry-run");
  return false;
}

void print_errors(ManyInputs& many, const char* program) {
  many.on_error = [program](const Error& e) { print_line(program, e.what()); };
}

}  // namespace sten::app
