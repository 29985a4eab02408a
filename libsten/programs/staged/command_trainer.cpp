// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/staged/command_trainer.h"

#include <cstring>
#include <filesystem>
#include <fstream>

#include "libsten/core/base/json_reader.h"
#include "libsten/programs/staged/command.h"

namespace sten {
namespace {

const std::vector<std::string> placeholders = {"{in}",      "{out}",      "{mask}",
                                               "{metrics}", "{sparsity}", "{stage}"};

// Replaces bare NaN, Infinity and -Infinity, as Python and JavaScript libraries write them, by
// strings.
std::string with_named_parameters(const std::string& json) {
  std::string out;
  bool is_text = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    if (json[i] == '"') is_text = !is_text;
    if (is_text && json[i] == '\\' && i + 1 < json.size()) {
      out += json.substr(i++, 2);
      continue;
    }
    const char* word = "";
    if (!is_text)
      for (const char* w : {"NaN", "Infinity", "-Infinity"})
        if (json.compare(i, std::strlen(w), w) == 0) word = w;
    if (!*word) {
      out += json[i];
      continue;
    }
    out += fmt::format("\"{}\"", word);
    i += std::strlen(word) - 1;
  }
  return out;
}

constexpr std::uintmax_t largest_metrics = 1 << 20;  // two numbers

const char* kind_of(std::filesystem::file_type type) {
  using Type = std::filesystem::file_type;
  switch (type) {
    case Type::directory:
      return "a directory";
    case Type::fifo:
      return "a FIFO";
    case Type::socket:
      return "a socket";
    default:
      return "a device";
  }
}

// Reads the file {metrics}; none if the command wrote nothing.
StageLosses read_metrics(const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) return {};
  if (!std::filesystem::is_regular_file(status))
    fail("{{metrics}} of the command: expected a file, got {}", kind_of(status.type()));
  if (std::filesystem::file_size(path, error) > largest_metrics)
    fail("{{metrics}} of the command: expected at most {} bytes", largest_metrics);
  std::ifstream in(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  const std::string what = "{metrics} of the command";
  const auto json = parse_json(with_named_parameters(text), what, Fault::input);
  if (!json.is_object()) fail("{}: expected a JSON object", what);
  const JsonReader reader(json, "{metrics}", Fault::input);
  const auto number = [&](const char* key) -> std::optional<double> {
    if (!reader.has(key) || reader[key].json().is_null()) return std::nullopt;
    return reader[key].real();
  };
  return {number("loss_before"), number("loss")};
}

}  // namespace

CommandTrainer::CommandTrainer(std::string command, double timeout)
    : command_(std::move(command)), timeout_(timeout) {
  check_placeholders(command_, placeholders);
  for (const char* needed : {"{in}", "{out}"})
    if (command_.find(needed) == std::string::npos)
      fail_usage("--finetune: missing {} in the command", needed);
}

bool CommandTrainer::tells_losses() const {
  return command_.find("{metrics}") != std::string::npos;
}

StageLosses CommandTrainer::measure(const StageFiles& files, const StageRound& round) const {
  const StageLosses losses = run(files, round);
  if (!losses.after) fail("{{metrics}} of the command: missing {{\"loss\": number}}");
  return losses;
}

StageLosses CommandTrainer::train(const StageFiles& files, const StageRound& round) const {
  const StageLosses losses = run(files, round);
  if (tells_losses() && !losses.after)
    fail("{{metrics}} of the command: missing the loss, which the input had");
  std::error_code error;
  const auto status = std::filesystem::status(files.out, error);
  if (!std::filesystem::exists(status)) fail("{{out}} of the command: output not found");
  // A pipe may never have a writer.
  if (!std::filesystem::is_regular_file(status) && !std::filesystem::is_directory(status))
    fail("{{out}} of the command: expected a file or a directory, got {}", kind_of(status.type()));
  return losses;
}

StageLosses CommandTrainer::run(const StageFiles& files, const StageRound& round) const {
  const Placeholders values = {{"{in}", files.in},
                               {"{out}", files.out},
                               {"{mask}", files.masks},
                               {"{metrics}", files.metrics},
                               {"{sparsity}", fmt::to_string(round.sparsity)},
                               {"{stage}", fmt::to_string(round.stage)}};
  const CommandEnd end = run_command(fill_in(command_, values), timeout_, variables(values));
  if (end.timed_out) fail("the command was ended after {} s (--finetune-timeout)", timeout_);
  if (!end.ok()) fail("the command {}", end.text());
  return read_metrics(files.metrics);
}

}  // namespace sten
