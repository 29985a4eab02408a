// SPDX-License-Identifier: Apache-2.0
#include "apps/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>

#include "libsten/core/base/text.h"

namespace sten::app {

std::size_t terminal_width(int fd) {
  if (!isatty(fd)) return 0;
  const char* columns = std::getenv("COLUMNS");
  std::int64_t wanted = 0;
  if (columns && parse_integer(columns, wanted) && wanted > 0)
    return static_cast<std::size_t>(wanted);
  winsize size{};
  return ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

}  // namespace sten::app
