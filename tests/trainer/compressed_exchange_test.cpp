// SPDX-License-Identifier: Apache-2.0
// Compressed gradients, compared with plain loops, with and without error feedback.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>

#include "libsten/training/comm/comm_self.h"
#include "libsten/training/trainer/checkpoint.h"
#include "libsten/training/trainer/rank_exchange.h"
#include "libsten/training/trainer/state_exchange.h"
#include "tests/support/thread_ranks.h"
#include "tests/trainer/small_runs.h"

using namespace sten;
using namespace sten::testing;

namespace {

using Floats = std::vector<float>;

// The gradient of a weight on a rank in a step; all values differ.
Dense gradient_of(int rank, Index step, std::size_t weight, const Shape& shape) {
  Dice dice(static_cast<unsigned>(1 + rank + 10 * step + 1000 * static_cast<Index>(weight)));
  return normals(dice, shape);
}

// Which values are sent: a share with the largest magnitudes, or all from a threshold on.
struct Selection {
  const char* spec;
  std::size_t kept_of = 0;  // one of so many is kept; 0: by threshold
  float threshold = 0;
};

std::vector<bool> selected(const Floats& x, const Selection& by) {
  Floats magnitudes;
  for (const float v : x) magnitudes.push_back(std::abs(v));
  float least = by.threshold;
  if (by.kept_of > 0) {
    Floats sorted = magnitudes;
    std::ranges::sort(sorted, std::greater<>());
    least = sorted[x.size() / by.kept_of - 1];
  }
  std::vector<bool> keep;
  for (const float m : magnitudes) keep.push_back(m >= least);
  return keep;
}

// Plain loops over n ranks and all steps: sums by weight in the last step, and residuals by rank.
struct Reference {
  std::vector<Floats> sums;
  std::vector<std::vector<Floats>> residuals;  // [rank][weight]
  std::vector<std::uint64_t> bytes;            // of each rank in the last step
};

Reference reference(const std::vector<Weight>& weights, int n, Index steps, const Selection& by,
                    bool error_feedback, Index begin) {
  const auto ranks = static_cast<std::size_t>(n);
  Reference all;
  all.residuals.resize(ranks);
  for (auto& of_rank : all.residuals)
    for (const Weight& w : weights)
      of_rank.emplace_back(static_cast<std::size_t>(size_of(w.shape)), 0.0F);
  for (Index step = 0; step < steps; ++step) {
    all.sums.clear();
    all.bytes.assign(ranks, 8);  // the length of the message
    for (std::size_t w = 0; w < weights.size(); ++w) {
      Floats sum(static_cast<std::size_t>(size_of(weights[w].shape)));
      for (std::size_t r = 0; r < ranks; ++r) {
        Floats g = floats(gradient_of(static_cast<int>(r), step, w, weights[w].shape));
        if (weights[w].shape.size() < 2 || step < begin) {
          for (std::size_t i = 0; i < g.size(); ++i) sum[i] += g[i];
          all.bytes[r] += 4 * g.size();
          continue;
        }
        Floats& residual = all.residuals[r][w];
        for (std::size_t i = 0; i < g.size(); ++i) g[i] += residual[i];
        const std::vector<bool> sent = selected(g, by);
        std::size_t count = 0;
        for (std::size_t i = 0; i < g.size(); ++i) {
          if (sent[i]) sum[i] += g[i], ++count;
          residual[i] = sent[i] || !error_feedback ? 0 : g[i];
        }
        // The count, the positions as indices or as bits, and the values.
        all.bytes[r] += 4 + 4 * std::min(count, (g.size() + 31) / 32) + 4 * count;
      }
      all.sums.push_back(std::move(sum));
    }
  }
  return all;
}

Recipe compressed(const TempDir& dir, const char* by) {
  Recipe r = small_mlp(dir);
  r.exchange.sparsifier = Spec::parse(by);
  return r;
}

// Gradients of a step, as exchanged.
StepExchange::Gradients exchanged(RankExchange& exchange, const TrainedWeights& weights, Index step,
                                  GradientTraffic& traffic) {
  StepExchange::Gradients gradients;
  const std::vector<Weight>& all = weights.task.graph().weights();
  for (std::size_t w = 0; w < all.size(); ++w)
    gradients.emplace_back(gradient_of(exchange.ranks().rank(), step, w, all[w].shape));
  StepExchange of_step = exchange.start(gradients);
  for (std::size_t w = all.size(); w-- > 0;)
    of_step.add(w, weights.state.parameters[w].value, false);
  traffic = of_step.finish();
  return gradients;
}

using Residuals = std::map<int, NamedValues<Tensor>>;

Floats residual_of(const Residuals& all, int rank, const std::string& weight) {
  return floats(all.at(rank).at(weight).to_dense());
}

// The state after the given step of a run of n ranks, as a checkpoint has it, and bits of the end.
struct Run {
  TrainState state;
  std::vector<std::pair<std::string, std::vector<std::byte>>> end;
  Residuals residuals{};
};

// A run of n ranks, from a state if it is given.
Run run_of(const Recipe& r, int n, Index middle, const TrainState* from = nullptr) {
  Run run;
  in_threads(n, [&](const auto& ranks) {
    Trainer t(std::make_shared<const Task>(r, TaskUse{.ranks = n}), ranks);
    if (from) {
      TrainState state;
      if (ranks->rank() == 0) state = *from;
      broadcast_state(*ranks, state);
      t.restore(std::move(state));
    }
    while (!t.is_done()) {
      if (t.state().step == middle) {
        TrainState state = t.state();
        gather_residuals(*ranks, state);
        if (ranks->rank() == 0) run.state = std::move(state);
      }
      t.step();
    }
    t.check_ranks();
    TrainState state = t.state();
    gather_residuals(*ranks, state);
    if (ranks->rank() > 0) return;
    run.end = bits_of(state);
    run.residuals = std::move(state.residuals);
  });
  return run;
}

// The sums over ranks of the residuals of a weight.
Floats summed(const Residuals& residuals, const std::string& weight) {
  Floats sum;
  for (const auto& [rank, of_rank] : residuals) {
    const Floats x = floats(of_rank.at(weight).to_dense());
    sum.resize(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) sum[i] += x[i];
  }
  return sum;
}

}  // namespace

TEST_CASE("compressed gradients match the reference with and without error feedback") {
  const TempDir dir;
  const Selection selections[] = {{"magnitude:sparsity=0.75", 4},
                                  {"magnitude:sparsity=0.984375", 64},
                                  {"threshold:at=1.5", 0, 1.5F}};
  for (const Selection& by : selections)
    for (const bool error_feedback : {true, false})
      for (const int n : {1, 2, 3}) {
        const Index begin = n == 2 ? 2 : 0;
        CAPTURE(by.spec);
        CAPTURE(error_feedback);
        CAPTURE(n);
        Recipe r = compressed(dir, by.spec);
        r.exchange.error_feedback = error_feedback;
        r.exchange.begin = begin;
        const Task task(r);
        const std::vector<Weight>& weights = task.graph().weights();
        constexpr Index steps = 4;
        const Reference wanted = reference(weights, n, steps, by, error_feedback, begin);
        in_threads(n, [&](const auto& ranks) {
          TrainedWeights mine(task, Device::cpu);
          mine.read_first();
          RankExchange exchange(ranks, mine);
          GradientTraffic traffic;
          StepExchange::Gradients got;
          for (; mine.state.step < steps; ++mine.state.step)
            got = exchanged(exchange, mine, mine.state.step, traffic);
          const auto rank = static_cast<std::size_t>(ranks->rank());
          std::uint64_t dense = 0;
          for (std::size_t w = 0; w < weights.size(); ++w) {
            CHECK(floats(got[w]->to_dense()) == wanted.sums[w]);
            dense += 4 * wanted.sums[w].size();
            if (weights[w].shape.size() < 2 || !error_feedback) continue;
            CHECK(residual_of(mine.state.residuals, ranks->rank(), weights[w].name) ==
                  wanted.residuals[rank][w]);
          }
          if (!error_feedback) CHECK(mine.state.residuals[ranks->rank()].empty());
          CHECK(traffic.sent == wanted.bytes[rank]);
          CHECK(traffic.sent - traffic.compressed == 4 * 68);  // biases
          CHECK(traffic.dense == dense);
          CHECK(traffic.sparse_sent == 0);
        });
      }
}

TEST_CASE("sending 1 of 64 values with its index takes 1/32 of the bytes") {
  const TempDir dir;
  const Task task(compressed(dir, "magnitude:sparsity=0.984375"));
  TrainedWeights weights(task, Device::cpu);
  weights.read_first();
  RankExchange exchange(comm_self(), weights);
  GradientTraffic traffic;
  exchanged(exchange, weights, 0, traffic);
  CHECK(traffic.compressed == 8 + 3 * 4 + 4 * (512 + 1024 + 128) / 32);
}

TEST_CASE("a run with compressed gradients resumes bit-identically") {
  const TempDir dir;
  Recipe r = compressed(dir, "magnitude:sparsity=0.9");
  SUBCASE("magnitude") {}
  SUBCASE("random") { r.exchange.sparsifier = Spec::parse("random:fraction=0.9"); }
  for (const int n : {1, 2}) {
    CAPTURE(n);
    const Run whole = run_of(r, n, 5);
    REQUIRE(whole.state.residuals.size() == static_cast<std::size_t>(n));
    // Through the files of a checkpoint.
    const std::string path = dir / fmt::format("checkpoint-{}", n);
    OutputDirectory to(path, false);
    const Task task(r);
    RunManifest manifest;
    manifest.ranks = n;
    write_checkpoint(to, task.graph(), whole.state, manifest);
    to.commit();
    const TrainCheckpoint read = read_checkpoint(path, task.graph());
    const Run resumed = run_of(r, n, -1, &read.state);
    CHECK(resumed.end == whole.end);
    for (const auto& [rank, of_rank] : whole.residuals)
      for (const auto& [name, x] : of_rank)
        CHECK(floats(x.to_dense()) == residual_of(resumed.residuals, rank, name));
  }
}

TEST_CASE("resuming on another number of ranks preserves the sum of residuals") {
  const TempDir dir;
  const Recipe r = compressed(dir, "magnitude:sparsity=0.9");
  const TrainState state = run_of(r, 4, 5).state;
  const Floats wanted = summed(state.residuals, "layers.0.weight");
  for (const int n : {1, 2, 4}) {
    Residuals taken;
    std::mutex lock;
    in_threads(n, [&](const auto& ranks) {
      TrainState mine = state;
      take_residuals(*ranks, mine);
      REQUIRE(mine.residuals.size() == 1);
      const std::lock_guard hold(lock);
      taken.insert(*mine.residuals.begin());
    });
    CHECK(taken.size() == static_cast<std::size_t>(n));
    const Floats sum = summed(taken, "layers.0.weight");
    for (std::size_t i = 0; i < sum.size(); ++i) CHECK(std::abs(sum[i] - wanted[i]) < 1e-6);
  }
}

TEST_CASE("gradients of sparse weights are not compressed, and a mask refresh sends all of them") {
  const TempDir dir;
  Recipe r = compressed(dir, "magnitude:sparsity=0.984375");
  SparsityRecipe s = sparse("layers.0.weight", "magnitude:sparsity=0.75");
  s.schedule.begin = 4;
  s.mask.kind = "refresh";
  s.mask.refresh = 3;
  r.sparsity = {s};
  in_threads(2, [&](const auto& ranks) {
    Trainer t(std::make_shared<const Task>(r, TaskUse{.ranks = 2}), ranks);
    const std::uint64_t first = 4 + 2 * 4 * 512 / 64, others = 8 + 2 * 4 + 2 * 4 * 1152 / 64;
    const std::uint64_t biases = 4 * 68;
    while (!t.is_done()) {
      const TrainStep step = t.step();
      CAPTURE(step.step);
      const bool is_sparse = step.step >= 4, is_refreshed = step.step == 7 || step.step == 10;
      CHECK(step.traffic.compressed == others + (is_sparse ? 0 : first));
      CHECK(step.traffic.sparse_sent == (is_refreshed ? 4 * 512 : is_sparse ? 512 : 0));
      CHECK(step.traffic.sent == step.traffic.compressed + step.traffic.sparse_sent + biases);
      CHECK(t.state().residuals.at(ranks->rank()).contains("layers.0.weight") == !is_sparse);
    }
    t.check_ranks();
  });
}

TEST_CASE("a gradient that is sent whole includes and clears its residual") {
  const TempDir dir;
  const Task task(compressed(dir, "magnitude:sparsity=0.75"));
  TrainedWeights weights(task, Device::cpu);
  weights.read_first();
  RankExchange exchange(comm_self(), weights);
  GradientTraffic traffic;
  exchanged(exchange, weights, 0, traffic);
  const std::string name = task.graph().weights()[0].name;
  Floats wanted = residual_of(weights.state.residuals, 0, name);
  const Dense next = gradient_of(0, 1, 0, task.graph().weights()[0].shape);
  StepExchange::Gradients gradients{next};
  StepExchange of_step = exchange.start(gradients);
  of_step.add(0, weights.state.parameters[0].value, true);
  of_step.finish();
  for (std::size_t i = 0; i < wanted.size(); ++i) wanted[i] = floats(next)[i] + wanted[i];
  CHECK(floats(gradients[0]->to_dense()) == wanted);
  CHECK(!weights.state.residuals.at(0).contains(name));
}

TEST_CASE("a checkpoint's residual that does not fit the run is rejected") {
  const TempDir dir;
  const Recipe r = compressed(dir, "magnitude:sparsity=0.9");
  const TrainState state = run_of(r, 1, 5).state;
  const auto error_with = [&](Recipe of, const std::string& weight, const Tensor& x) {
    TrainState bad = state;
    bad.residuals[0].insert_or_assign(weight, x);
    const auto t = trainer_of(of);
    return error_of([&] { t->restore(std::move(bad)); });
  };
  const Tensor fits = Dense::zeros(DType::F32, {32, 16});
  CHECK(error_with(r, "layers.0.weight", fits).empty());
  CHECK(error_with(r, "layers.0.weight", Dense::zeros(DType::F32, {16, 32})) ==
        "state of 'layers.0.weight': unexpected residual");
  CHECK(error_with(r, "layers.9.weight", fits) ==
        "state of 'layers.9.weight': unexpected residual");
  Recipe whole = r;
  whole.exchange = {};
  CHECK(error_with(whole, "layers.0.weight", fits) ==
        "state of 'layers.0.weight': unexpected residual");
}

TEST_CASE("compression rejects sparsifiers that do not fit a gradient, and CUDA gradients") {
  const TempDir dir;
  const auto error_of_trainer = [&](const char* by) {
    const Task task(compressed(dir, by));
    return error_of([&] { check_compression(TrainedWeights(task, Device::cpu)); });
  };
  CHECK(error_of_trainer("nm:n=2,m=4").empty());
  CHECK(error_of_trainer("nm:n=2,m=4,dims=2.1")
            .starts_with("/exchange/sparsifier: 'layers.0.weight': dims=2.1 is beyond the axes"));
  const Task task(compressed(dir, "magnitude:sparsity=0.9"));
  CHECK(error_of([&] { check_compression(TrainedWeights(task, Device::cuda)); }) ==
        "/exchange/sparsifier: gradients on cuda cannot be compressed (expected the CPU)");
}
