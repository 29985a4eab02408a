// SPDX-License-Identifier: Apache-2.0
#include "libsten/data/json_lines.h"

#include <algorithm>

namespace sten {

void each_json_line(std::string_view text, const std::string& name,
                    const std::function<void(Index, const nlohmann::ordered_json&)>& take) {
  for (Index line = 1; !text.empty(); ++line) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view one = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (one.find_first_not_of(" \t\r") == one.npos) continue;
    take(line, parse_json(one, fmt::format("{}: line {}", name, line), Fault::input));
  }
}

}  // namespace sten
