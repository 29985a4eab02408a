// SPDX-License-Identifier: Apache-2.0
#include "apps/paths.h"

#include <string>

#include "libsten/files/checkpoint/output_paths.h"
#include "libsten/files/system/paths.h"
#include "libsten/programs/staged/state.h"
#include "libsten/training/trainer/run_files.h"

namespace sten::app {
namespace {

// Options of this type have their path after the first '='.
constexpr const char* named_file = "[NAME=]FILE";

std::string path_of(const CLI::Option& o, const std::string& value) {
  return o.get_type_name() == named_file ? value.substr(value.find('=') + 1) : value;
}

void add(std::vector<NamedPath>& to, const CLI::App& app, const char* name, const char* shown,
         bool container = false, bool (*is_own_file)(const std::string&) = nullptr) {
  const CLI::Option* o = app.get_option_no_throw(name);
  // The --input of sten-bench is not a file.
  if (!o || (o->check_lname("input") && o->get_type_name() != named_file)) return;
  for (const std::string& value : o->results())
    to.push_back({shown, path_of(*o, value), container, is_own_file});
}

// Adds the files that a recipe reads.
void add_read(std::vector<NamedPath>& to, const CLI::App& app) {
  for (const char* name : {"RECIPE", "--recipe"}) {
    const CLI::Option* o = app.get_option_no_throw(name);
    if (!o || o->count() == 0 || is_stream(o->results().front())) continue;
    for (const auto& [key, path] :
         inputs_of(o->results().front(), app.get_option("--set")->results()))
      to.push_back({key, path});
  }
}

// As the program does: DIR/ for a file is that file in DIR.
void add_output(std::vector<NamedPath>& to, const CLI::App& app) {
  const std::size_t before = to.size();
  add(to, app, "--output", "-o");
  const CLI::Option* in = app.get_option_no_throw("IN");
  if (to.size() == before || !in || in->count() != 1) return;
  const CLI::Option* layout = app.get_option_no_throw("--to");
  to.back().path =
      output_for(in->results().front(), to.back().path, app.get_name() != "sten-convert",
                 layout && layout->count() ? layout->results().back() : "dense");
}

constexpr const char* other_files[] = {"--mask-out", "--report", "--plot"};

}  // namespace

std::vector<std::string> output_files(const CLI::App& app) {
  std::vector<NamedPath> outputs;
  add_output(outputs, app);
  for (const char* name : other_files) add(outputs, app, name, name);
  std::vector<std::string> paths;
  for (NamedPath& o : outputs) paths.push_back(std::move(o.path));
  return paths;
}

void check_paths(const CLI::App& app, bool prints_json) {
  std::vector<NamedPath> inputs, outputs;
  for (const char* name : {"IN", "RECIPE", "MODEL"}) add(inputs, app, name, "");
  for (const char* name :
       {"--load", "--mask", "--scores", "--against", "--rules", "--recipe", "--config", "--weights",
        "--input", "--data", "--labels", "--prompt-file", "--prompts"})
    add(inputs, app, name, name);
  add_read(inputs, app);
  if (prints_json) outputs.push_back({"--json", "-"});
  add_output(outputs, app);
  for (const char* name : other_files) add(outputs, app, name, name);
  // --out-dir may contain the inputs: its outputs are checked one by one.
  add(outputs, app, "--out-dir", "--out-dir", true);
  add(outputs, app, "--state", "--state", true, StateDirectory::is_own_file);
  add(outputs, app, "--out", "--out", true, RunFiles::is_own_file);
  check_outputs(inputs, outputs);
}

}  // namespace sten::app
