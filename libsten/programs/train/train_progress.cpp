// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/train/train_progress.h"

#include <fmt/format.h>

#include <cstdio>
#include <string>

namespace sten {

TrainProgress::TrainProgress(Index done, Index steps, bool shown)
    : first_(done), steps_(steps), shown_(shown), start_(Clock::now()), last_(start_) {}

void TrainProgress::show(Index done, std::optional<double> loss, double sparsity, double rate) {
  if (!shown_) return;
  // Losses of single batches vary too much to be readable.
  if (loss) loss_ = loss_ ? 0.9 * *loss_ + 0.1 * *loss : *loss;
  const auto now = Clock::now();
  if (drawn_ && now - last_ < std::chrono::milliseconds(100) && done < steps_) return;
  last_ = now;
  drawn_ = true;
  const double seconds = std::chrono::duration<double>(now - start_).count();
  const double per_second = seconds > 0 ? static_cast<double>(done - first_) / seconds : 0;
  const double left = per_second > 0 ? static_cast<double>(steps_ - done) / per_second : 0;
  constexpr Index width = 24;
  const auto full = static_cast<std::size_t>(steps_ ? width * done / steps_ : width);
  std::fputs(fmt::format("\r\x1b[K[{}{}] step {}/{}  loss {}  sparsity {:.1f} %  rate {:.2e}  "
                         "{:.3g} steps/s  {:.0f} s left",
                         std::string(full, '='), std::string(width - full, ' '), done, steps_,
                         loss_ ? fmt::format("{:.4f}", *loss_) : "-", 100 * sparsity, rate,
                         per_second, left)
                 .c_str(),
             stderr);
  std::fflush(stderr);
}

void TrainProgress::clear() {
  if (!drawn_) return;
  std::fputs("\r\x1b[K", stderr);
  std::fflush(stderr);
  drawn_ = false;
}

}  // namespace sten
