// SPDX-License-Identifier: Apache-2.0
#include "libsten/model/fusion/graph_port.h"

#include "libsten/core/base/text.h"

namespace sten {

std::string shape_text(const std::vector<GraphPort::Extent>& shape) {
  std::string text;
  for (const GraphPort::Extent& e : shape)
    text += (text.empty() ? "" : ", ") + (e.size             ? std::to_string(*e.size)
                                          : e.symbol.empty() ? "?"
                                                             : printable(e.symbol));
  return "[" + text + "]";
}

}  // namespace sten
