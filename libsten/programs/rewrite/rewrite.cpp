// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/rewrite/rewrite.h"

#include <algorithm>
#include <filesystem>

#include "libsten/core/base/hints.h"
#include "libsten/core/base/json.h"
#include "libsten/core/base/log.h"
#include "libsten/core/base/version.h"
#include "libsten/files/checkpoint/config_dtype.h"
#include "libsten/files/checkpoint/gguf_companions.h"
#include "libsten/files/checkpoint/output_name.h"
#include "libsten/files/checkpoint/output_paths.h"
#include "libsten/files/checkpoint/weight_names.h"
#include "libsten/files/system/data_file.h"
#include "libsten/files/system/paths.h"
#include "libsten/report/progress.h"

namespace sten {
namespace {

namespace fs = std::filesystem;

void check_location(const std::string& input, const std::string& output) {
  check_outputs({{"", input}}, {{"-o", output}});
  std::error_code none;
  if (!is_sharded(input)) {
    // Standard output may be redirected to the input.
    if (fs::is_regular_file(input, none)) refuse_same_file(output, MappedFile::open(input));
    return;
  }
  if (is_stream(output)) return;
  const fs::path from = resolved(input), to = resolved(output);
  if (lies_in(to, fs::is_directory(from, none) ? from : from.parent_path()))
    fail_usage("{}: the output lies in the input directory", printable(output));
}

void check_file(const std::string& output) {
  std::error_code none;
  if (fs::is_directory(output, none))
    fail("{}: expected a file, got a directory ({}/ writes a file in the directory)",
         printable(output), printable(output));
  // Whether the output can be .onnx depends on the input.
  if (!is_onnx_name(output) && !is_gguf_name(output))
    check_output_name(output, Written::checkpoint);
}

// Creates the directory for the weights of a GGUF model and its companions.
void make_model_directory(const std::string& input, OutputOptions& options) {
  const fs::path directory = fs::path(options.path).parent_path();
  std::error_code error;
  if (!is_gguf_name(input) || directory.empty() || !has_gguf_companions(options.path) ||
      fs::exists(directory, error))
    return;
  if (options.dry_run)
    options.in_new_folder = true;
  else if (!fs::create_directory(directory, error))
    fail("{}: {}", printable(directory.string()), error.message());
}

// Before the input is read, which may be a slow pipe.
std::unique_ptr<CheckpointOutput> open_output(const std::string& input, OutputOptions& options) {
  const bool directory = is_sharded(input) && !is_gguf_name(options.path);
  if (options.type && options.type->is_quantized() && !is_gguf_name(options.path))
    fail_usage("--type: expected f32, f16 or bf16, or -o FILE.gguf as the output, got {}",
               options.type->name);
  make_model_directory(input, options);
  if (!options.path.empty()) {
    check_location(input, options.path);
    if (!directory) check_file(options.path);
  }
  if (!options.dry_run)
    return std::make_unique<CheckpointOutput>(options.path, options.force, directory,
                                              options.writes_graph, options.type);
  if (!options.path.empty() && !options.in_new_folder)
    CheckpointOutput::check(options.path, options.force, directory);
  return nullptr;
}

void add_missing(Metadata& to, const Metadata& from) {
  for (const auto& [key, value] : from)
    if (std::ranges::none_of(to, [&, &key = key](const auto& m) { return m.first == key; }))
      to.emplace_back(key, value);
}

constexpr const char* config_name = "config.json";

}  // namespace

std::vector<std::string> option_texts(const Options& options) {
  std::vector<std::string> texts;
  for (const auto& [flag, value] : options) texts.push_back(recorded_text(flag + "=" + value));
  return texts;
}

void check_fraction(const char* flag, const std::optional<double>& value) {
  if (value && !(*value >= 0 && *value <= 1)) fail_usage("{} {}", flag, not_a_fraction(*value));
}

Rewrite::Rewrite(const std::string& input, OutputOptions output, std::string program,
                 Options options)
    : options_(std::move(output)),
      program_(std::move(program)),
      values_(std::move(options)),
      out_(open_output(input, options_)),
      input_(Checkpoint::open(input)) {
  if (!input_.index() && is_onnx_name(options_.path) && !input_.is_onnx())
    check_output_name(options_.path, Written::checkpoint);
  const bool is_gguf = is_gguf_name(options_.path);
  if (!is_gguf && (input_.gguf() || options_.type)) set_dtype();
  // A directory may have the name of the input.
  if (input_.index() && !options_.path.empty() && !is_gguf &&
      resolved(input).extension() != resolved(options_.path).extension())
    check_output_name(options_.path, Written::directory);
  if (input_.index() && !is_gguf) left_ = left_behind(*input_.index(), options_.keep_other_weights);
  if (out_ && !input_.index()) refuse_same_file(options_.path, input_.shards().front().file);
}

void Rewrite::add_metadata(const Checkpoint& of) {
  for (const Shard& shard : of.shards()) add_missing(more_metadata_, shard.metadata);
}

void Rewrite::set_dtype() {
  if (writes_onnx()) fail_usage("--type: the weights of an ONNX model keep their type");
  rounded_ = input_.set_matrix_dtype(options_.type);
  const auto& index = input_.index();
  if (!options_.type || !index) return;
  const fs::path config = fs::path(index->directory) / config_name;
  if (std::error_code error; !fs::is_regular_file(config, error)) return;
  const MappedFile text = open_data(config);
  replace_companion(config_name, with_dtype(std::string(text_of(text.bytes())),
                                            *options_.type->dtype, text.name()));
}

bool Rewrite::writes_onnx() const {
  return input_.is_onnx() &&
         (is_onnx_name(options_.path) || (input_.index() && options_.writes_graph));
}

void Rewrite::replace_companion(const std::string& name, std::string text) {
  if (out_) out_->replace_companion(name, std::move(text));
}

std::vector<TensorInfo> Rewrite::contents(const std::vector<std::optional<Spec>>& to) const {
  std::vector<TensorInfo> contents(input_.tensors().begin(), input_.tensors().end());
  for (std::size_t i = 0; i < contents.size(); ++i)
    if (to[i]) contents[i].layout = *to[i];
  for (const auto& [i, shape] : shapes_) contents[i].shape = shape;
  return contents;
}

void Rewrite::check(const std::vector<std::optional<Spec>>& to) const {
  if (!options_.path.empty()) CheckpointOutput::check_contents(options_.path, input_, contents(to));
}

void Rewrite::run(const std::vector<std::optional<Spec>>& to, bool show_progress,
                  const std::function<Tensor(std::size_t)>& change) {
  const auto& tensors = input_.tensors();
  check(to);
  if (out_) {
    const auto annotate = [this](Metadata metadata) {
      add_missing(metadata, more_metadata_);
      return values_.empty() ? metadata : with_provenance(metadata, program_, values_);
    };
    std::vector<bool> changed(to.size());
    for (std::size_t i = 0; i < to.size(); ++i) changed[i] = to[i].has_value();
    out_->begin(input_, contents(to), annotate, left_.names(), changed);
  }
  std::uint64_t total = 0;
  for (const CheckpointTensor& t : tensors) total += t.bytes();
  Progress progress(program_, total, show_progress);
  for (const std::size_t i : input_.data_order()) {
    const CheckpointTensor& t = tensors[i];
    if (to[i]) {
      const Tensor changed = change(i);
      input_.drop(t);
      if (out_) out_->add(i, changed);
    } else {
      if (t.is_sparse()) {  // refuses damaged tensors instead of copying them
        (void)input_.load(t);
        input_.drop(t);
      }
      if (out_) out_->copy(i);
    }
    progress.add(t.bytes());
  }
  if (out_) out_->finish();
}

void Rewrite::add_notes(Report& r) const {
  r.add_note(input_.part_taken());
  if (rounded_ > 0)
    r.add_note(fmt::format("rounded {} of {} tensors to {}{}", rounded_, input_.tensors().size(),
                           options_.type ? options_.type->name : "BF16",
                           options_.type ? "" : " (--type f32 does not round)"));
  if (input_.gguf() && !options_.path.empty() && !is_gguf_name(options_.path) &&
      !has_gguf_companions(options_.path))
    r.notes.push_back(
        "the output has only weights: -o DIR/ also writes config.json and the tokenizer");
  for (std::string& line : left_.notes()) r.notes.push_back(std::move(line));
}

std::uint64_t Rewrite::commit(Output* beside) { return out_ ? out_->commit(beside) : 0; }

std::vector<std::optional<Spec>> layouts_for(const Selection& s, const Spec& to) {
  std::vector<std::optional<Spec>> layouts(s.chosen.size());
  for (std::size_t i = 0; i < layouts.size(); ++i)
    if (s.chosen[i]) layouts[i] = to;
  return layouts;
}

Metadata with_provenance(Metadata metadata, const std::string& program, const Options& options) {
  nlohmann::ordered_json step;
  step["program"] = program;
  step["version"] = std::string(version());
  step["options"] = option_texts(options);

  const auto at = std::find_if(metadata.begin(), metadata.end(),
                               [](const auto& m) { return m.first == provenance_key; });
  nlohmann::ordered_json steps = nlohmann::ordered_json::array();
  if (at != metadata.end()) {
    try {
      steps = parse_json(at->second, "metadata " + quote(provenance_key));
    } catch (const Error& e) {
      warn("{}: replaced by new metadata", e.what());
    }
    if (!steps.is_array()) {
      warn("metadata {}: expected a JSON array: replaced by new metadata", quote(provenance_key));
      steps = nlohmann::ordered_json::array();
    }
    metadata.erase(at);
  }
  steps.push_back(std::move(step));
  metadata.emplace_back(provenance_key, dump_json(steps));
  return metadata;
}

std::vector<Column> changed_columns(const std::vector<Column>& before,
                                    const std::vector<Column>& after) {
  std::vector<Column> all = {{"name", "tensor", Unit::text},
                             {"shape", "shape", Unit::shape},
                             {"dtype", "dtype", Unit::text}};
  all.insert(all.end(), before.begin(), before.end());
  all.insert(all.end(), {{"sparsity", "sparsity", Unit::fraction},
                         {"energy", "energy", Unit::ratio},
                         {"bytes_before", "before", Unit::bytes},
                         {"bytes_after", "after", Unit::bytes},
                         {"padding", "padding", Unit::fraction},
                         {"fit", "fit", Unit::text}});
  all.insert(all.end(), after.begin(), after.end());
  all.push_back(module_column);
  return all;
}

std::vector<std::size_t> natural_order(const Checkpoint& c, const Selection& s) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < c.tensors().size(); ++i)
    if (s.chosen[i]) order.push_back(i);
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return natural_less(c.tensors()[a].name, c.tensors()[b].name);
  });
  return order;
}

}  // namespace sten
