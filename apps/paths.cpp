#include "apps/paths.h"

#include <string>

#include "libsten/io/output_paths.h"

namespace sten::app {
namespace {

void add(std::vector<NamedPath>& to, const CLI::App& app, const char* name, const char* shown,
         bool container = false) {
  const CLI::Option* o = app.get_option_no_throw(name);
  if (!o) return;
  for (const std::string& path : o->results()) to.push_back({shown, path, container});
}

}  // namespace

void check_paths(const CLI::App& app, bool prints_json) {
  std::vector<NamedPath> inputs, outputs;
  for (const char* name : {"IN", "RECIPE"}) add(inputs, app, name, "");
  for (const char* name :
       {"--mask", "--scores", "--against", "--rules", "--recipe", "--config", "--weights"})
    add(inputs, app, name, name);
  if (prints_json) outputs.push_back({"--json", "-"});
  add(outputs, app, "--output", "-o");
  for (const char* name : {"--mask-out", "--report", "--plot"}) add(outputs, app, name, name);
  // --out-dir may be where the inputs are: each of its outputs is looked at for itself.
  for (const char* name : {"--out-dir", "--state", "--out"}) add(outputs, app, name, name, true);
  check_outputs(inputs, outputs);
}

}  // namespace sten::app
