// SPDX-License-Identifier: Apache-2.0
#include "libsten/report/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "libsten/core/base/text.h"

namespace sten {

Progress::Progress(std::string title, std::uint64_t total, bool shown, std::string unit)
    : title_(std::move(title)),
      unit_(std::move(unit)),
      total_(total),
      shown_(shown),
      start_(Clock::now()) {}

void Progress::add(std::uint64_t done) {
  done_ += done;
  const auto now = Clock::now();
  // Ten updates per second look smooth and cost nothing.
  if (!shown_ || (drawn_ && now - last_ < std::chrono::milliseconds(100) && done_ < total_)) return;
  last_ = now;
  drawn_ = true;
  const double seconds = std::chrono::duration<double>(now - start_).count();
  const double share =
      total_ ? static_cast<double>(std::min(done_, total_)) / static_cast<double>(total_) : 1;
  const double rate = seconds > 0 ? static_cast<double>(done_) / seconds : 0;
  const double left = share > 0 ? seconds * (1 - share) / share : 0;
  constexpr int width = 24;
  const int full = static_cast<int>(share * width);
  std::fputs(fmt::format("\r\x1b[K{} [{}{}] {:3.0f} %  {}/s  {:.0f} s left", title_,
                         std::string(full, '='), std::string(width - full, ' '), 100 * share,
                         unit_.empty() ? human_bytes(static_cast<std::uint64_t>(rate))
                                       : fmt::format("{:.3g} {}", rate, unit_),
                         left)
                 .c_str(),
             stderr);
  std::fflush(stderr);
}

void Progress::clear() {
  if (!drawn_) return;
  std::fputs("\r\x1b[K", stderr);
  std::fflush(stderr);
}

}  // namespace sten
