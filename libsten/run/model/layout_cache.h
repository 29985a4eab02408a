// How fast layouts are on this machine, kept from one run to the next.
#pragma once
#include <string>
#include <vector>

#include "libsten/graph/fastest_layouts.h"

namespace sten {

// The file is layouts.json in $STEN_CACHE, or $XDG_CACHE_HOME/sten, or ~/.cache/sten: of each machine
// (processor, ISA, threads(), dense libraries, version of this library) a LayoutTimes. It is there whole
// or not at all, whoever writes it at the same time.
class LayoutCache {
 public:
  // Reads it. What is no such file is left out, which a note says.
  LayoutCache();

  LayoutTimes times;               // of this machine
  std::vector<std::string> notes;  // sentences about what could not be read or written

  // Where it is; empty where no variable says so.
  const std::string& path() const { return path_; }
  // Writes the times beside those that others have written meanwhile. A directory that cannot be
  // written to is a note.
  void write();

 private:
  std::string path_, machine_;
};

// Of the environment; empty where no variable says so.
std::string cache_directory();
// By machine. Error where the text is no cache; `name` begins the message.
std::map<std::string, LayoutTimes> parse_layout_times(std::string_view text,
                                                      const std::string& name);

}  // namespace sten
