// SPDX-License-Identifier: Apache-2.0
#include "libsten/training/comm/mpi/sums.h"

#include <sched.h>
#include <sys/prctl.h>

#include <algorithm>
#include <bit>
#include <chrono>

namespace sten::mpi_plugin {
namespace {

// Elements of a segment: few enough that several are in flight at once, many enough for efficient
// messages.
std::size_t max_segment_size(int ranks) {
  return std::max(std::size_t{1} << 18, static_cast<std::size_t>(ranks) << 14);
}
constexpr std::size_t most_travelling = 4;  // segments in flight
constexpr auto pause = std::chrono::microseconds(200);

// Rounds to nearest, ties to even.
std::uint16_t to_bfloat16(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t rounded = bits + 0x7fffu + ((bits >> 16) & 1);
  const bool is_nan = (bits & 0x7fffffffu) > 0x7f800000u;
  return static_cast<std::uint16_t>((is_nan ? bits | 0x400000u : rounded) >> 16);
}
float to_float(std::uint16_t x) { return std::bit_cast<float>(std::uint32_t{x} << 16); }
float to_float(float x) { return x; }

void round_to(const float* from, std::size_t n, std::uint16_t* to) {
  for (std::size_t i = 0; i < n; ++i) to[i] = to_bfloat16(from[i]);
}

// Adds the arrays [ranks, count] that n ranks sent.
template <class T>
void add_up(const T* from, std::size_t count, int ranks, float* to) {
  for (std::size_t i = 0; i < count; ++i) to[i] = to_float(from[i]);
  for (int r = 1; r < ranks; ++r) {
    from += count;
    for (std::size_t i = 0; i < count; ++i) to[i] += to_float(from[i]);
  }
}

}  // namespace

class Sums::Segment {
 public:
  Segment(std::span<float> x, Transport by, void (*use_device)(),
          std::shared_ptr<Progress> progress, int rank, int size)
      : progress(std::move(progress)),
        x_(x),
        by_(by),
        use_device_(use_device),
        size_(size),
        counts_(static_cast<std::size_t>(size)),
        at_(static_cast<std::size_t>(size)),
        mine_(static_cast<std::size_t>(size)),
        from_(static_cast<std::size_t>(size)) {
    const auto place = [&](int r) {
      return static_cast<int>(x.size() * static_cast<std::size_t>(r) /
                              static_cast<std::size_t>(size));
    };
    for (int r = 0; r < size; ++r) {
      const auto i = static_cast<std::size_t>(r);
      at_[i] = place(r);
      counts_[i] = place(r + 1) - at_[i];
    }
    const auto i = static_cast<std::size_t>(rank);
    part_ = x.subspan(static_cast<std::size_t>(at_[i]), static_cast<std::size_t>(counts_[i]));
    part_at_ = static_cast<std::size_t>(at_[i]);
    for (std::size_t r = 0; r < mine_.size(); ++r) {
      mine_[r] = counts_[i];
      from_[r] = static_cast<int>(r) * counts_[i];
    }
  }

  // Sends each part to the rank that sums it.
  void send_parts(MPI_Comm comm) {
    if (use_device_) {
      use_device_();
      received_.resize(part_.size() * static_cast<std::size_t>(size_));
      exchange(comm, {x_.data(), at_, counts_}, {received_.data(), from_, mine_});
    } else if (by_ == Transport::float32) {
      send_parts(comm, x_.data(), received_, MPI_FLOAT);
    } else {
      rounded_.resize(x_.size());
      round_to(x_.data(), x_.size(), rounded_.data());
      send_parts(comm, rounded_.data(), received_rounded_, MPI_UINT16_T);
    }
  }
  // Sums the received parts and sends the sum to all.
  void send_sums(MPI_Comm comm) {
    if (use_device_) {
      sums_.resize(part_.size());
      add_up(received_.data(), part_.size(), size_, sums_.data());
      const std::vector<int> at_begin(counts_.size());
      exchange(comm, {sums_.data(), at_begin, mine_}, {x_.data(), at_, counts_});
    } else if (by_ == Transport::float32) {
      add_up(received_.data(), part_.size(), size_, part_.data());
      send_sums(comm, x_.data(), MPI_FLOAT);
    } else {
      add_up(received_rounded_.data(), part_.size(), size_, part_.data());
      round_to(part_.data(), part_.size(), rounded_.data() + part_at_);
      send_sums(comm, rounded_.data(), MPI_UINT16_T);
    }
    has_parts = true;
  }
  void finish() {
    if (by_ == Transport::bfloat16)
      for (std::size_t i = 0; i < x_.size(); ++i) x_[i] = to_float(rounded_[i]);
  }
  bool has_arrived() {
    int yes = 0;
    MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &yes, MPI_STATUSES_IGNORE);
    return yes;
  }

  std::shared_ptr<Progress> progress;
  bool has_parts = false;  // all parts are received and their sum is sent

 private:
  template <class T>
  void send_parts(MPI_Comm comm, const T* from, std::vector<T>& to, MPI_Datatype type) {
    to.resize(part_.size() * static_cast<std::size_t>(size_));
    MPI_Ialltoallv(from, counts_.data(), at_.data(), type, to.data(), mine_.data(), from_.data(),
                   type, comm, requests_.data());
  }
  template <class T>
  void send_sums(MPI_Comm comm, T* x, MPI_Datatype type) {
    MPI_Iallgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, x, counts_.data(), at_.data(), type, comm,
                    requests_.data());
  }

  // An array, and the offset and size of each rank's part in it.
  struct RankOffsets {
    float* numbers;
    const std::vector<int>&at, &counts;
  };
  // The same with nonblocking messages: Open MPI's nonblocking collective calls do not support
  // device memory.
  void exchange(MPI_Comm comm, const RankOffsets& from, const RankOffsets& to) {
    requests_.clear();
    for (int r = 0; r < size_; ++r) {
      const auto i = static_cast<std::size_t>(r);
      MPI_Irecv(to.numbers + to.at[i], to.counts[i], MPI_FLOAT, r, 0, comm,
                &requests_.emplace_back());
    }
    for (int r = 0; r < size_; ++r) {
      const auto i = static_cast<std::size_t>(r);
      MPI_Isend(from.numbers + from.at[i], from.counts[i], MPI_FLOAT, r, 0, comm,
                &requests_.emplace_back());
    }
  }

  std::span<float> x_, part_;  // the segment, and the part that this rank sums
  Transport by_;
  void (*use_device_)();  // not nullptr: x is device memory
  int size_;
  std::size_t part_at_ = 0;
  std::vector<int> counts_, at_;  // the part of each rank
  std::vector<int> mine_, from_;  // the part that each rank sends to this one
  std::vector<float> received_, sums_;
  std::vector<std::uint16_t> rounded_, received_rounded_;
  std::vector<MPI_Request> requests_{MPI_REQUEST_NULL};
};

class Sums::Waiting final : public PendingSum::Work {
 public:
  Waiting(Sums& sums, std::shared_ptr<Progress> progress)
      : sums_(sums), progress_(std::move(progress)) {}
  bool is_done() override {
    const std::lock_guard hold(sums_.lock_);
    return progress_->left == 0;
  }
  void wait() override {
    std::unique_lock hold(sums_.lock_);
    ++sums_.waiting_;
    sums_.done_.wait(hold, [&] { return progress_->left == 0; });
    --sums_.waiting_;
  }

 private:
  Sums& sums_;
  std::shared_ptr<Progress> progress_;
};

Sums::Sums(bool has_thread) {
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  MPI_Comm_dup(MPI_COMM_WORLD, &parts_);
  MPI_Comm_dup(MPI_COMM_WORLD, &sums_);
  if (has_thread) thread_ = std::thread([this] { run(); });
}

Sums::~Sums() {
  {
    const std::lock_guard hold(lock_);
    ends_ = true;
  }
  more_.notify_one();
  if (thread_.joinable()) thread_.join();
  MPI_Comm_free(&parts_);
  MPI_Comm_free(&sums_);
}

std::unique_ptr<PendingSum::Work> Sums::begin(std::span<float> x, Transport by,
                                              void (*use_device)()) {
  if (x.empty() || size_ == 1) return nullptr;
  auto progress = std::make_shared<Progress>();
  const std::size_t most = max_segment_size(size_);
  {
    const std::lock_guard hold(lock_);
    for (std::size_t i = 0; i < x.size(); i += most) {
      begun_.push_back(std::make_unique<Segment>(x.subspan(i, std::min(most, x.size() - i)), by,
                                                 use_device, progress, rank_, size_));
      ++progress->left;
    }
  }
  if (thread_.joinable()) {
    more_.notify_one();
    return std::make_unique<Waiting>(*this, std::move(progress));
  }
  while (progress->left > 0) make_progress();
  return nullptr;
}

// Polls the segments in flight and starts new ones.
void Sums::make_progress() {
  std::vector<std::unique_ptr<Segment>> new_ones;
  {
    const std::lock_guard hold(lock_);
    while (!begun_.empty() && travelling_.size() + new_ones.size() < most_travelling) {
      new_ones.push_back(std::move(begun_.front()));
      begun_.pop_front();
    }
  }
  for (auto& piece : new_ones) {
    piece->send_parts(parts_);
    travelling_.push_back(std::move(piece));
  }
  // In order: other ranks send their sums in the same order.
  bool is_next = true;
  for (const auto& piece : travelling_) {
    if (!piece->has_parts && is_next && piece->has_arrived()) piece->send_sums(sums_);
    is_next &= piece->has_parts;
  }
  while (!travelling_.empty() && travelling_.front()->has_parts &&
         travelling_.front()->has_arrived()) {
    travelling_.front()->finish();
    const std::lock_guard hold(lock_);
    if (--travelling_.front()->progress->left == 0) done_.notify_all();
    travelling_.pop_front();
  }
}

void Sums::run() {
  prctl(PR_SET_TIMERSLACK, 1000);  // a pause would be longer by the default of 50 microseconds
  for (;;) {
    if (travelling_.empty()) {
      std::unique_lock hold(lock_);
      more_.wait(hold, [&] { return ends_ || !begun_.empty(); });
      if (begun_.empty()) return;
    }
    make_progress();
    if (travelling_.empty()) continue;
    if (waiting_ > 0)
      sched_yield();
    else
      std::this_thread::sleep_for(pause);
  }
}

}  // namespace sten::mpi_plugin
