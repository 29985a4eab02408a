// How fast layouts are on this machine, cached from one run to the next.
#pragma once
#include <string>
#include <vector>

#include "libsten/graph/fastest_layouts.h"
#include "libsten/io/cache_file.h"

namespace sten {

// The file is layouts.json in $STEN_CACHE, or $XDG_CACHE_HOME/sten, or ~/.cache/sten: of each machine
// (processor, ISA, threads(), dense libraries, version of this library) a LayoutTimes. Processes that
// write it at the same time leave a whole file.
class LayoutCache {
 public:
  // Reads it. A note says why a file is not used; see CacheFile.
  LayoutCache();

  LayoutTimes times;               // of this machine
  std::vector<std::string> notes;  // sentences about what could not be read or written

  // Where it is; empty without a cache.
  std::string path() const { return file_ ? file_->path() : ""; }
  // Adds the times to those that other processes have written meanwhile. A note if that fails.
  void write();

 private:
  std::optional<CacheFile> file_;  // none: neither read nor written
  std::string machine_;
};

// Of the environment; empty where no variable says so.
std::string cache_directory();
// By machine. Error for a document of another form; `name` begins the message.
std::map<std::string, LayoutTimes> parse_layout_times(const nlohmann::ordered_json& document,
                                                      const std::string& name);

}  // namespace sten
