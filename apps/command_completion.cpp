// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "apps/commands.h"
#include "libsten/core/base/version.h"

namespace sten::app {
namespace {

std::string names(const char* separator) {
  std::string out;
  for (const Command& c : commands()) out += (out.empty() ? "" : separator) + std::string(c.name);
  return out;
}

// For single quotes of bash, zsh and fish; the purposes have no quotes, and zsh splits at the colon.
std::string without_colon(std::string_view text) {
  std::string out(text);
  for (std::size_t at = 0; (at = out.find(':', at)) != out.npos; at += 2) out.insert(at, "\\");
  return out;
}

constexpr const char* bash_script =
    R"(# Completion of sten {version} for bash, written from the names of the programs.
# shellcheck shell=bash
_sten() {{
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    mapfile -t COMPREPLY < <(compgen -W '{names} help --help --version' -- "${{COMP_WORDS[1]}}")
    return
  fi
  local command=${{COMP_WORDS[1]}}
  case $command in
    help)
      ((COMP_CWORD > 2)) || mapfile -t COMPREPLY < <(compgen -W '{names}' -- "${{COMP_WORDS[2]}}")
      ;;
    {cases})
      # shellcheck source=/dev/null
      declare -F "_sten_$command" >/dev/null || . "${{BASH_SOURCE[0]%/*}}/sten-$command"
      COMP_WORDS=("sten-$command" "${{COMP_WORDS[@]:2}}")
      ((COMP_CWORD--))
      "_sten_$command"
      ;;
  esac
}}
complete -F _sten sten
)";

constexpr const char* zsh_script = R"(#compdef sten
# Completion of sten {version} for zsh, written from the names of the programs.
local -a commands options
commands=(
{commands}  'help:Print the help of a command'
)
options=('--help:Print this help' '--version:Print the version')
if ((CURRENT == 2)); then
  if [[ $PREFIX == -* ]]; then
    _describe option options -o
  else
    _describe command commands
  fi
elif [[ $words[2] == help ]]; then
  ((CURRENT > 3)) || _describe command commands
else
  shift words
  ((CURRENT--))
  words[1]=sten-$words[1]
  _normal
fi
)";

constexpr const char* fish_script =
    R"(# Completion of sten {version} for fish, written from the names of the programs.
function __sten_arguments
  set -l words (commandline -opc)
  complete -C "sten-"(string join -- ' ' (string escape -- $words[2..-1]) (commandline -ct))
end
complete -c sten -f
complete -c sten -n __fish_use_subcommand -s h -l help -d 'Print this help'
complete -c sten -n __fish_use_subcommand -l version -d 'Print the version'
complete -c sten -n __fish_use_subcommand -a help -d 'Print the help of a command'
{commands}complete -c sten -n '__fish_seen_subcommand_from help' -a '{names}'
complete -c sten -n 'not __fish_use_subcommand; and not __fish_seen_subcommand_from help' -a '(__sten_arguments)'
)";

}  // namespace

std::string command_bash_completion() {
  return fmt::format(bash_script, fmt::arg("version", version()), fmt::arg("names", names(" ")),
                     fmt::arg("cases", names(" | ")));
}

std::string command_zsh_completion() {
  std::string list;
  for (const Command& c : commands())
    list += fmt::format("  '{}:{}'\n", c.name, without_colon(c.purpose));
  return fmt::format(zsh_script, fmt::arg("version", version()), fmt::arg("commands", list));
}

std::string command_fish_completion() {
  std::string list;
  for (const Command& c : commands())
    list +=
        fmt::format("complete -c sten -n __fish_use_subcommand -a {} -d '{}'\n", c.name, c.purpose);
  return fmt::format(fish_script, fmt::arg("version", version()), fmt::arg("commands", list),
                     fmt::arg("names", names(" ")));
}

}  // namespace sten::app
