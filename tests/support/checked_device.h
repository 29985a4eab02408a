// SPDX-License-Identifier: Apache-2.0
// A Grid for tables of functions whose blocks are checked (kernels/block/checked_grid.h).
#pragma once
#include <string>
#include <vector>

#include "kernels/block/checked_grid.h"

namespace sten::testing {

class CheckedDevice {
 public:
  explicit CheckedDevice(kernels::Stream) : grid_(next()) {}
  ~CheckedDevice() {
    for (const std::string& r : grid_.reports())
      if (reports().size() < 10) reports().push_back(r);
  }
  CheckedDevice(const CheckedDevice&) = delete;
  CheckedDevice& operator=(const CheckedDevice&) = delete;

  // Clears the reports and sets the seed.
  static void reset(std::uint64_t seed) {
    next() = seed;
    reports().clear();
  }
  static std::vector<std::string>& reports() {
    static std::vector<std::string> all;
    return all;
  }

  template <class Kernel>
  void launch(const Kernel& kernel) {
    grid_.launch(kernel);
  }
  std::size_t most_shared() const { return grid_.most_shared(); }
  int processors() const { return grid_.processors(); }
  template <class T>
  T* scratch(std::int64_t n) {
    return grid_.scratch<T>(n);
  }
  template <class T>
  T fetch(const T* p) {
    return grid_.fetch(p);
  }

 private:
  static std::uint64_t& next() {
    static std::uint64_t seed = 0;
    return ++seed;
  }
  kernels::CheckedGrid grid_;
};

}  // namespace sten::testing
