// SPDX-License-Identifier: Apache-2.0
#include "apps/completion.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "apps/help.h"
#include "libsten/core/base/version.h"
#include "libsten/core/registry/registry.h"
#include "libsten/core/registry/structure.h"
#include "libsten/programs/plan/prune_options.h"
#include "libsten/training/recipe/keys.h"

namespace sten::app {
namespace {

// Values that do not depend on the registry; tests/cli/completion.sh compares them with the programs'
// errors.
const std::map<std::string, std::vector<std::string>>& known_values() {
  static const std::map<std::string, std::vector<std::string>> values = {
      {"BENCH", {"gemm", "convert"}},
      {"--method", names_of(PruneMethod{})},
      {"--allocate", names_of(AllocationMethod{})},
      {"--scope", names_of(PruneScope{})},
      {"--nan", names_of(Nan{})},
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
    words.push_back(name + (registry().needs_parameters(name) ? ":" : ""));
  return words;
}

// The keys of --set; of lists, those of the first entry.
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

// The values of CLI::IsMember, from the name of its type: "WHEN:{auto,always,never}".
std::vector<std::string> members(const CLI::Option& o) {
  const std::string type = o.get_type_name();
  const std::size_t begin = type.find(":{"), end = type.find('}');
  if (begin == type.npos || end == type.npos) return {};
  return CLI::detail::split(type.substr(begin + 2, end - begin - 2), ',');
}

// How a value is completed.
struct ValueKind {
  enum Kind { none, words, files, directories } kind = none;
  std::vector<std::string> choices = {};  // words; or globs of files, empty: those of checkpoints
};

constexpr const char* checkpoint_globs[] = {"*.safetensors", "*.npy", "*.onnx", "*.gguf",
                                            "*.safetensors.index.json"};

ValueKind value_kind(const Program& program, const CLI::Option& o) {
  const std::string name = "--" + o.get_lnames().front(), type = value_name(o);
  std::vector<std::string> words = members(o);
  if (const auto known = known_values().find(name); known != known_values().end())
    words = known->second;
  if (name == "--structure") words = structure_words();
  if (type == "LAYOUT") words = layouts(program);
  if (name == "--set") words = recipe_words();
  if (!words.empty()) return {ValueKind::words, words};
  const auto files = [](std::vector<std::string> globs) {
    return ValueKind{ValueKind::files, std::move(globs)};
  };
  if (name == "--report") return files({"*.json", "*.csv", "*.md", "*.html", "*.svg"});
  if (name == "--against" && program.name == std::string_view("sten-bench"))
    return files({"*.json"});
  if (name == "--load") return files({"*.so"});
  if (name == "--rules") return files({"*"});
  if (name == "--plot") return files({"*.svg"});
  if (name == "--data") return files({"*.json", "*.csv", "*.txt"});
  if (name == "--config") return files({"*.json"});
  if (type.ends_with("FILE") || type == "OUT" || type == "MODEL") return files({});
  return {type == "DIR" ? ValueKind::directories : ValueKind::none};
}

// Kind of a positional argument: a word, a recipe, or a checkpoint.
ValueKind positional_kind(const CLI::Option& o) {
  const std::string name = o.get_name(true);
  if (const auto known = known_values().find(name); known != known_values().end())
    return {ValueKind::words, known->second};
  if (name == "RECIPE") return {ValueKind::files, {"*.json"}};
  return {ValueKind::files};
}

// Assignments of the bash script.
std::string bash_kind(const ValueKind& v) {
  switch (v.kind) {
    case ValueKind::words:
      return fmt::format("kind=words words='{}'", fmt::join(v.choices, " "));
    case ValueKind::files:
      return v.choices.empty()
                 ? "kind=files"
                 : fmt::format("kind=files endings=('{}')", fmt::join(v.choices, "' '"));
    case ValueKind::directories:
      return "kind=directories";
    default:
      return "kind=none";
  }
}

std::vector<std::string> names_of(const CLI::Option& o) {
  std::vector<std::string> names;
  for (const std::string& name : o.get_snames()) names.push_back("-" + name);
  for (const std::string& name : o.get_lnames()) names.push_back("--" + name);
  return names;
}

// Positional arguments, and the options of --help-all.
std::vector<const CLI::Option*> shown_options(const CLI::App& app) {
  return app.get_options(
      [](const CLI::Option* o) { return o->get_positional() || !o->get_group().empty(); });
}

// Escapes these characters by backslashes.
std::string escaped(std::string_view text, std::string_view characters) {
  std::string out;
  for (const char c : text) {
    if (characters.find(c) != characters.npos) out += '\\';
    out += c;
  }
  return out;
}

// Escapes for single quotes of zsh, where a colon separates.
std::string zsh_text(std::string_view text) {
  std::string out;
  for (const char c : escaped(text, ":[]\\")) out += c == '\'' ? "'\\''" : std::string(1, c);
  return out;
}

std::string zsh_action(const ValueKind& v) {
  switch (v.kind) {
    case ValueKind::words: {
      const std::string words = fmt::format("{}", fmt::join(v.choices, " "));
      // No space after "steps=": the value follows.
      const auto is_prefix = [](const std::string& w) {
        return w.ends_with('=') || w.ends_with(':');
      };
      return std::any_of(v.choices.begin(), v.choices.end(), is_prefix)
                 ? "compadd -S \"\" - " + zsh_text(words)
                 : fmt::format("({})", zsh_text(words));
    }
    case ValueKind::files:
      return v.choices.empty() ? fmt::format("_files -g \"{}\"", fmt::join(checkpoint_globs, " "))
                               : fmt::format("_files -g \"{}\"", fmt::join(v.choices, " "));
    case ValueKind::directories:
      return "_files -/";
    default:
      return " ";
  }
}

std::string fish_value(const ValueKind& v) {
  switch (v.kind) {
    case ValueKind::words:
      return fmt::format(" -x -a '{}'",
                         escaped(fmt::format("{}", fmt::join(v.choices, " ")), "'\\"));
    case ValueKind::files:
      return " -r -F";
    case ValueKind::directories:
      return " -x -a '(__fish_complete_directories)'";
    default:
      return " -x";
  }
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
  local -a endings=('*.safetensors' '*.npy' '*.onnx' '*.gguf' '*.safetensors.index.json')
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
  for (const CLI::Option* o : shown_options(app)) {
    if (o->get_positional()) {
      const ValueKind kind = positional_kind(*o);
      if (!kind.choices.empty())
        positional = fmt::format("  elif [[ $kind == input ]]; then\n    {}\n", bash_kind(kind));
      continue;
    }
    const std::vector<std::string> names = names_of(*o);
    options.insert(options.end(), names.begin(), names.end());
    if (takes_value(*o))
      cases += fmt::format("    {}) {} ;;\n", fmt::join(names, " | "),
                           bash_kind(value_kind(program, *o)));
  }
  return fmt::format(script, fmt::arg("program", program.name), fmt::arg("version", version()),
                     fmt::arg("function", function), fmt::arg("cases", cases),
                     fmt::arg("options", fmt::format("{}", fmt::join(options, " "))),
                     fmt::arg("positional", positional));
}

std::string zsh_completion(const Program& program, const CLI::App& app) {
  std::string out = fmt::format(
      "#compdef {}\n# Completion of {} {} for zsh, written from the program's options.\n"
      "_arguments -s -S",
      program.name, program.name, version());
  for (const CLI::Option* o : shown_options(app)) {
    if (o->get_positional()) {
      out += fmt::format(" \\\n  '*:{}:{}'", zsh_text(o->get_name(true)),
                         zsh_action(positional_kind(*o)));
      continue;
    }
    for (const std::string& name : names_of(*o)) {
      const bool takes = takes_value(*o);
      const char* joined = !takes ? "" : name.starts_with("--") ? "=" : "+";
      out += fmt::format(" \\\n  '*{}{}[{}]", name, joined, zsh_text(summary(*o)));
      if (takes)
        out += fmt::format(":{}:{}", zsh_text(value_name(*o)), zsh_action(value_kind(program, *o)));
      out += "'";
    }
  }
  return out + "\n";
}

std::string fish_completion(const Program& program, const CLI::App& app) {
  std::string out =
      fmt::format("# Completion of {} {} for fish, written from the program's options.\n",
                  program.name, version());
  for (const CLI::Option* o : shown_options(app)) {
    out += fmt::format("complete -c {}", program.name);
    if (o->get_positional()) {
      const ValueKind kind = positional_kind(*o);
      out += kind.kind == ValueKind::words
                 ? fmt::format(" -n 'test (count (commandline -opc)) -eq 1'{}", fish_value(kind))
                 : " -F";
    } else {
      for (const std::string& name : o->get_snames()) out += " -s " + name;
      for (const std::string& name : o->get_lnames()) out += " -l " + name;
      if (takes_value(*o)) out += fish_value(value_kind(program, *o));
      out += fmt::format(" -d '{}'", escaped(summary(*o), "'\\"));
    }
    out += "\n";
  }
  return out;
}

}  // namespace sten::app
