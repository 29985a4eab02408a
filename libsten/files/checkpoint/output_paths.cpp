// SPDX-License-Identifier: Apache-2.0
#include "libsten/files/checkpoint/output_paths.h"

#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "libsten/core/base/error.h"
#include "libsten/core/base/text.h"
#include "libsten/files/checkpoint/output_name.h"
#include "libsten/files/checkpoint/shards.h"
#include "libsten/files/system/fd.h"
#include "libsten/files/system/paths.h"

namespace sten {
namespace {

namespace fs = std::filesystem;

bool is_standard_output(const std::string& path) {
  return path == "-" || descriptor_named(path) == 1;
}

// Identity of a file, which hard links share.
std::optional<std::pair<dev_t, ino_t>> identity(const fs::path& path) {
  struct stat s;
  if (stat(path.c_str(), &s) != 0) return std::nullopt;
  return std::pair(s.st_dev, s.st_ino);
}

// "--json", "-o -", "-o 'out'", "'in'".
std::string text(const NamedPath& p) {
  if (p.flag == "--json") return p.flag;
  const std::string path = p.path == "-" ? p.path : quote(p.path);
  return p.flag.empty() ? path : p.flag + " " + path;
}

struct Location {
  const NamedPath* given;
  fs::path path;
};

// Sorted by path, so that the contents of a directory follow it.
std::vector<Location> locations(const std::vector<NamedPath>& paths) {
  std::vector<Location> all;
  for (const NamedPath& p : paths)
    if (!p.path.empty() && !is_stream(p.path)) all.push_back({&p, resolved(p.path)});
  std::ranges::sort(all, {}, &Location::path);
  return all;
}

// The first of the sorted locations that is `path` or lies in it.
const Location* first_within(const std::vector<Location>& all, const fs::path& path) {
  const auto at = std::ranges::lower_bound(all, path, {}, &Location::path);
  if (at == all.end() || (at->path != path && !lies_in(at->path, path))) return nullptr;
  return &*at;
}

// The input directory that contains a location, if any; a shard index stands for its directory.
const Location* directory_of(const std::map<fs::path, const Location*>& directories,
                             fs::path path) {
  while (path.has_relative_path()) {
    path = path.parent_path();
    if (const auto at = directories.find(path); at != directories.end()) return at->second;
  }
  return nullptr;
}

}  // namespace

std::string output_for(const std::string& input, const std::string& output, bool writes_graph,
                       std::string_view to) {
  if (!output.ends_with('/') || is_sharded(input)) return output;
  if (is_stream(input))
    fail_usage("{}: expected a file name, as {} has none", printable(output),
               input == "-" ? "standard input" : quote(input));
  return output + result_name(fs::path(input).filename(), writes_graph, to);
}

void check_outputs(const std::vector<NamedPath>& inputs, const std::vector<NamedPath>& outputs) {
  const NamedPath* printed = nullptr;
  for (const NamedPath& o : outputs) {
    if (!is_standard_output(o.path)) continue;
    if (printed) fail_usage("{} and {} both want standard output", text(*printed), text(o));
    printed = &o;
  }
  const std::vector<Location> in = locations(inputs), out = locations(outputs);
  std::map<std::pair<dev_t, ino_t>, const NamedPath*> files;
  std::map<fs::path, const Location*> directories;
  for (const Location& p : in) {
    if (const auto id = identity(p.path)) files.emplace(*id, p.given);
    std::error_code none;
    if (fs::is_directory(p.path, none))
      directories.emplace(p.path, &p);
    else if (is_sharded(p.path))
      directories.emplace(p.path.parent_path(), &p);
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    const Location& o = out[i];
    const bool container = o.given->container;
    const auto id = container ? std::nullopt : identity(o.path);
    const auto same = id ? files.find(*id) : files.end();
    if (same != files.end())
      fail_usage("{}: the output is the input {}, and inputs are never written", text(*o.given),
                 text(*same->second));
    if (const Location* p = container ? nullptr : first_within(in, o.path))
      fail_usage("{}: the output contains the input {}, and inputs are never written",
                 text(*o.given), text(*p->given));
    if (const Location* p = id ? directory_of(directories, o.path) : nullptr)
      fail_usage("{}: the output lies in the input {}, where nothing is replaced", text(*o.given),
                 text(*p->given));
    if (const Location* p = o.given->is_own_file ? directory_of(directories, o.path / "") : nullptr)
      fail_usage("{}: the output lies in the input {}, where no run keeps its files",
                 text(*o.given), text(*p->given));
    for (std::size_t k = i + 1;
         o.given->is_own_file && k < out.size() && lies_in(out[k].path, o.path); ++k)
      if (o.given->is_own_file(*out[k].path.lexically_relative(o.path).begin()))
        fail_usage("{} would lie in {}, where a run keeps its own files", text(*out[k].given),
                   text(*o.given));
    if (i + 1 == out.size()) break;
    const Location& next = out[i + 1];
    if (next.path == o.path)
      fail_usage("{} and {} are the same file", text(*o.given), text(*next.given));
    if (!container && lies_in(next.path, o.path))
      fail_usage("{} would lie in {}", text(*next.given), text(*o.given));
  }
}

}  // namespace sten
