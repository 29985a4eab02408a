#include "apps/completion.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "apps/help.h"
#include "libsten/base/version.h"
#include "libsten/dispatch/registry.h"
#include "libsten/dispatch/structure.h"
#include "libsten/recipe/keys.h"

namespace sten::app {
namespace {

// What bash cannot ask the library: tests/cli/completion.sh holds it against the programs' errors.
const std::map<std::string, std::vector<std::string>>& known_values() {
  static const std::map<std::string, std::vector<std::string>> values = {
      {"BENCH", {"gemm", "convert"}},
      {"--method",
       {"magnitude", "random", "threshold", "movement", "l0", "gradient", "wanda", "ria",
        "sparsegpt", "admm"}},
      {"--allocate", {"error", "sensitivity", "owl"}},
      {"--scope", {"local", "row", "global"}},
      {"--nan", {"error", "keep", "zero"}},
      {"--schedule", {"iterative:", "linear:", "cubic:", "exponential:", "layer-wise"}},
  };
  return values;
}

std::vector<std::string> layouts(const Program& program) {
  std::vector<std::string> names;
  for (const auto& example : registry().layouts()) {
    const std::string name(example.spec.name());
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  const std::string_view name = program.name;
  if (name == "sten-prune" || name == "sten-convert") names.push_back("auto");
  return names;
}

std::vector<std::string> structure_words() {
  std::vector<std::string> words{"unstructured"};
  for (const std::string& name : structures())
    words.push_back(name + (registry().needs_numbers(name) ? ":" : ""));
  return words;
}

// The keys of --set, those of the first entry where there are several.
std::vector<std::string> recipe_words() {
  const std::vector<RecipeKey> keys = recipe_keys();
  std::vector<std::string> words;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const bool is_section =
        i + 1 < keys.size() && keys[i + 1].pointer.starts_with(keys[i].pointer + "/");
    std::string path = keys[i].pointer.substr(1);
    if (is_section || path.find("schema") != path.npos) continue;
    std::replace(path.begin(), path.end(), '/', '.');
    std::replace(path.begin(), path.end(), '*', '0');
    words.push_back(path + "=");
  }
  return words;
}

// The set that CLI::IsMember says it has: "WHEN:{auto,always,never}".
std::vector<std::string> members(const CLI::Option& o) {
  const std::string type = o.get_type_name();
  const std::size_t begin = type.find(":{"), end = type.find('}');
  if (begin == type.npos || end == type.npos) return {};
  return CLI::detail::split(type.substr(begin + 2, end - begin - 2), ',');
}

// How the value of an option is completed: "kind=..." and what belongs to it.
std::string value_kind(const Program& program, const CLI::Option& o) {
  const std::string name = "--" + o.get_lnames().front(), type = value_name(o);
  std::vector<std::string> words = members(o);
  if (const auto known = known_values().find(name); known != known_values().end())
    words = known->second;
  if (name == "--structure") words = structure_words();
  if (type == "LAYOUT") words = layouts(program);
  if (name == "--set") words = recipe_words();
  if (!words.empty()) return fmt::format("kind=words words='{}'", fmt::join(words, " "));
  if (name == "--report")
    return fmt::format("kind=files endings=('*.json' '*.csv' '*.md' '*.html'{})",
                       program.has_chart ? " '*.svg'" : "");
  if (name == "--against" && program.name == std::string_view("sten-bench"))
    return "kind=files endings=('*.json')";
  if (name == "--rules") return "kind=files endings=('*')";
  if (name == "--plot") return "kind=files endings=('*.svg')";
  if (name == "--data") return "kind=files endings=('*.json' '*.csv' '*.txt')";
  if (name == "--config") return "kind=files endings=('*.json')";
  if (type.ends_with("FILE") || type == "OUT" || type == "MODEL") return "kind=files";
  return type == "DIR" ? "kind=directories" : "kind=none";
}

constexpr const char* script =
    R"(# Completion of {program} {version} for bash, written from the program's options.
# shellcheck shell=bash
{function}() {{
  local i=$COMP_CWORD word=${{COMP_WORDS[COMP_CWORD]}} current=${{COMP_WORDS[COMP_CWORD]}}
  # Bash splits words at ':' and '='.
  while ((i > 1)) && [[ $word == [:=]* || ${{COMP_WORDS[i - 1]}} == *[:=] ]]; do
    word=${{COMP_WORDS[--i]}}$word
  done
  if [[ $current == [:=]* ]]; then current=; fi
  local option=${{COMP_WORDS[i - 1]}} value=$word
  if [[ $word == --*=* ]]; then option=${{word%%=*}} value=${{word#*=}}; fi

  local kind=input words='' ending
  local -a endings=('*.safetensors' '*.npy' '*.onnx' '*.safetensors.index.json')
  case $option in
{cases}  esac
  if [[ $kind == input && $value == -* ]]; then
    kind=words
    words='{options}'
{positional}  fi
  COMPREPLY=()
  case $kind in
    words) mapfile -t COMPREPLY < <(compgen -W "$words" -- "$value") ;;
    directories) mapfile -t COMPREPLY < <(compgen -d -- "$value") ;;
    input | files)
      for ending in "${{endings[@]}}"; do
        mapfile -t -O "${{#COMPREPLY[@]}}" COMPREPLY < <(compgen -f -X "!$ending" -- "$value")
      done
      mapfile -t -O "${{#COMPREPLY[@]}}" COMPREPLY < <(compgen -d -- "$value")
      ;;
  esac
  if [[ $kind == @(directories|input|files) ]]; then compopt -o filenames 2>/dev/null; fi
  if [[ ${{COMPREPLY[0]-}} == *[:=] ]]; then compopt -o nospace 2>/dev/null; fi
  # Bash replaces what is behind the last ':' or '=' only.
  local before=${{value%"$current"}}
  COMPREPLY=("${{COMPREPLY[@]#"$before"}}")
}}
complete -F {function} {program}
)";

}  // namespace

std::string bash_completion(const Program& program, const CLI::App& app) {
  std::string function = std::string("_") + program.name, cases, positional;
  std::replace(function.begin(), function.end(), '-', '_');
  std::vector<std::string> options;
  for (const CLI::Option* o : app.get_options()) {
    // A word, not an input file.
    if (const auto known = known_values().find(o->get_name(true));
        o->get_positional() && known != known_values().end())
      positional = fmt::format("  elif [[ $kind == input ]]; then\n    kind=words words='{}'\n",
                               fmt::join(known->second, " "));
    if (o->get_positional() && o->get_name(true) == "RECIPE")
      positional = "  elif [[ $kind == input ]]; then\n    endings=('*.json')\n";
    if (o->get_positional() || o->get_group().empty()) continue;
    std::vector<std::string> names;
    for (const std::string& name : o->get_snames()) names.push_back("-" + name);
    for (const std::string& name : o->get_lnames()) names.push_back("--" + name);
    options.insert(options.end(), names.begin(), names.end());
    if (takes_value(*o))
      cases += fmt::format("    {}) {} ;;\n", fmt::join(names, " | "), value_kind(program, *o));
  }
  return fmt::format(script, fmt::arg("program", program.name), fmt::arg("version", version()),
                     fmt::arg("function", function), fmt::arg("cases", cases),
                     fmt::arg("options", fmt::format("{}", fmt::join(options, " "))),
                     fmt::arg("positional", positional));
}

}  // namespace sten::app
