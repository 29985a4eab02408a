// SPDX-License-Identifier: Apache-2.0
// Layout cache: measured speeds of layouts on this machine, shared by runs.
#pragma once
#include <string>
#include <vector>

#include "libsten/files/system/cache_file.h"
#include "libsten/model/execution/fastest_layouts.h"

namespace sten {

// The file is layouts.json in $STEN_CACHE, $XDG_CACHE_HOME/sten or ~/.cache/sten. It has
// LayoutTimes per machine (processor, ISA, threads(), dense libraries, version of this library).
// Concurrent writers leave a whole file.
class LayoutCache {
 public:
  // Reads the file. A note says why a file is ignored; see CacheFile.
  LayoutCache();

  LayoutTimes times;               // of this machine
  std::vector<std::string> notes;  // on failed reads and writes

  // The path of the file; empty without a cache.
  std::string path() const { return file_ ? file_->path() : ""; }
  // Merges the times with those that other processes wrote, and writes the file. Failure adds a
  // note.
  void write();

 private:
  std::optional<CacheFile> file_;  // none: caching is off
  std::string machine_;
};

// The directory from the environment; empty if no variable names one.
std::string cache_directory();
// Parses times by machine. Error that starts with `name` for a malformed document.
std::map<std::string, LayoutTimes> parse_layout_times(const nlohmann::ordered_json& document,
                                                      const std::string& name);

}  // namespace sten
