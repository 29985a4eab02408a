// SPDX-License-Identifier: Apache-2.0
// Progress bar.
#pragma once
#include <chrono>
#include <cstdint>
#include <string>

namespace sten {

// A bar on standard error with rate and remaining time; silent unless `shown`.
class Progress {
 public:
  Progress() = default;
  // `total`: in bytes, or in `unit`.
  Progress(std::string title, std::uint64_t total, bool shown, std::string unit = "");
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void add(std::uint64_t done);

 private:
  void clear();
  using Clock = std::chrono::steady_clock;
  std::string title_, unit_;
  std::uint64_t total_ = 0, done_ = 0;
  bool shown_ = false, drawn_ = false;
  Clock::time_point start_{}, last_{};
};

}  // namespace sten
