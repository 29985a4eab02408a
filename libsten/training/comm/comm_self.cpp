// SPDX-License-Identifier: Apache-2.0
#include "libsten/training/comm/comm_self.h"

#include <cstdlib>

namespace sten {
namespace {

class Self final : public Communicator {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  bool is_one_machine() const override { return true; }
  void barrier() override {}
  bool all_fail() override { return true; }
  [[noreturn]] void abort(int code) override { std::_Exit(code); }

 private:
  std::unique_ptr<PendingSum::Work> do_sum(std::span<float>, Transport) override { return nullptr; }
  void do_unite(std::span<std::uint64_t>) override {}
  void do_broadcast(std::span<std::byte>, int) override {}
  std::vector<std::uint64_t> do_gather(std::uint64_t x) override { return {x}; }
  void do_gather(std::span<const std::uint32_t> x,
                 std::vector<std::vector<std::uint32_t>>& all) override {
    all.front().assign(x.begin(), x.end());
  }
};

}  // namespace

std::shared_ptr<Communicator> comm_self() { return std::make_shared<Self>(); }

}  // namespace sten
