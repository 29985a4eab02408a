// In which layouts a graph's sparse weights are fastest on this machine.
#pragma once
#include "libsten/graph/executor.h"

namespace sten {

// A dense weight with a larger share of nonzeros is not sparse. 2:4 keeps somewhat more than half of
// rows that 4 does not divide.
inline constexpr double most_nonzeros = 0.6;
// Of the elements of a weight of F32 or BF16; 0 of an empty one.
double share_of_nonzeros(const Tensor& w);

// Seconds that nodes take with a weight, by its layout.
using SecondsByLayout = std::map<std::string, double>;
// The same of weights that are alike, by what they are: shape, layout, share of nonzeros, layouts that
// hold them, and what takes them, of how many tokens. Times of one machine and number of threads.
using LayoutTimes = std::map<std::string, SecondsByLayout>;

struct LayoutChoice {
  std::string weight;
  std::vector<std::string> nodes;  // that take it
  std::string use;                 // what it is, as in LayoutTimes
  SecondsByLayout seconds;
  std::string layout;  // the fastest
  bool measured;       // else the times were known
};

struct FastestLayouts {
  NamedValues<Tensor> weights;
  std::vector<LayoutChoice> choices;  // for those weights that were looked at
};

// The weights of these names, each in the layout in which an Executor of the graph takes the least
// time for the nodes that take it: the one it is in, dense, csr, or n:m of 2:4, 1:4 or 1:8, as far as a
// layout holds all of it and the operators take it unconverted. No element changes. `values`: the
// graph's inputs and weights by name. The executor runs once as weights are. Where one of them has no
// times in `known`, all those without are put into one layout after the other, the executor runs
// four times with each, and the least of the last three times of a weight, averaged over weights that
// are alike, is added to `known`. A dense weight that is not sparse (most_nonzeros) is not looked at, and
// stays unchanged. `precision` is that of ExecutorOptions: nodes in bfloat16 have other times.
FastestLayouts in_fastest_layouts(const Graph& g, const NamedValues<Tensor>& values,
                                  const std::vector<std::string>& names, LayoutTimes& known,
                                  const std::vector<PrecisionRule>& precision = {});

// The same weights with the times that are known, nothing measured: `seconds`, and as `layout` the
// fastest. Weights of unknown times are left out. `plan`: of an Executor of the graph that ran with
// these values and precision.
std::vector<LayoutChoice> known_choices(const Graph& g, const NamedValues<Tensor>& values,
                                        const std::vector<std::string>& names,
                                        const LayoutTimes& known, const ExecutionPlan& plan,
                                        const std::vector<PrecisionRule>& precision = {});

// Less is the scatter of measurements.
inline constexpr double least_slowdown = 1.05;
// How many times as long as in dense the weight takes in that layout; nullopt unless both times are
// known and that is above least_slowdown.
std::optional<double> slowdown(const LayoutChoice& choice, const std::string& layout);

}  // namespace sten
