#include "libsten/run/rewrite.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "libsten/base/log.h"
#include "libsten/base/version.h"
#include "libsten/io/checkpoint_writer.h"
#include "libsten/run/progress.h"

namespace sten {
namespace {

// Before the input is read, which may be a pipe that takes hours.
std::unique_ptr<OutputFile> open_output(const std::string& input, const OutputOptions& options) {
  if (options.dry_run) return nullptr;
  std::error_code none;
  if (std::filesystem::is_regular_file(input, none))
    refuse_same_file(options.path, MappedFile::open(input), options.force);
  return std::make_unique<OutputFile>(options.path, options.force);
}

}  // namespace

Rewrite::Rewrite(const std::string& input, OutputOptions output, std::string program,
                 Options options)
    : options_(std::move(output)),
      program_(std::move(program)),
      values_(std::move(options)),
      out_(open_output(input, options_)),
      input_(Checkpoint::open(input)) {
  if (out_) refuse_same_file(options_.path, input_.file(), options_.force);
}

void Rewrite::run(const Selection& selection, const Spec& to, bool show_progress,
                  const std::function<Tensor(std::size_t)>& change) {
  const auto& tensors = input_.tensors();
  std::vector<TensorInfo> plan(tensors.begin(), tensors.end());
  for (std::size_t i = 0; i < plan.size(); ++i)
    if (selection.chosen[i]) plan[i].layout = to;

  std::optional<CheckpointWriter> writer;
  if (out_)
    writer.emplace(*out_, with_provenance(input_.metadata(), program_, values_), std::move(plan));
  Progress progress(program_, input_.file().bytes().size(), show_progress);
  for (const std::size_t i : input_.data_order()) {
    const CheckpointTensor& t = tensors[i];
    if (selection.chosen[i]) {
      const Tensor changed = change(i);
      bytes_ += changed.bytes();
      if (writer) writer->add(t.name, changed);
    } else {
      bytes_ += t.bytes();
      if (writer) writer->copy(input_, t);
    }
    input_.drop(t);
    progress.add(t.bytes());
  }
  if (writer) writer->finish();
}

std::uint64_t Rewrite::commit() {
  if (!out_) return bytes_;
  input_.file().check_unchanged();
  const std::uint64_t size = out_->size();
  out_->commit();
  return size;
}

std::vector<std::pair<std::string, std::string>> with_provenance(
    std::vector<std::pair<std::string, std::string>> metadata, const std::string& program,
    const Options& options) {
  nlohmann::ordered_json step;
  step["program"] = program;
  step["version"] = std::string(version());
  step["options"] = nlohmann::ordered_json::array();
  for (const auto& [flag, value] : options) step["options"].push_back(flag + "=" + value);

  const auto at = std::find_if(metadata.begin(), metadata.end(),
                               [](const auto& m) { return m.first == provenance_key; });
  nlohmann::ordered_json steps = nlohmann::ordered_json::array();
  if (at != metadata.end()) {
    steps = nlohmann::ordered_json::parse(at->second, nullptr, false);
    if (!steps.is_array()) {
      warn("metadata {} is not a JSON array and is started anew", quote(provenance_key));
      steps = nlohmann::ordered_json::array();
    }
    metadata.erase(at);
  }
  steps.push_back(std::move(step));
  metadata.emplace_back(provenance_key, steps.dump());
  return metadata;
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
