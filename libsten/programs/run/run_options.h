// Options of sten-run.
#pragma once
#include "libsten/programs/rewrite/rewrite.h"

namespace sten {

struct RunOptions {
  std::string model;                 // see find_model()
  std::string config;                // describes weights alone; see describe_model()
  std::vector<std::string> inputs;   // see read_arrays()
  std::vector<std::string> outputs;  // see OutputFiles
  // A recipe, whose data section is used; or data: a .csv file, a text, or a folder of images.
  std::string data;
  std::string split;    // test | validation | train | all; empty: the first one of these with rows
  std::string labels;   // labels of the input rows: .npy
  std::string against;  // another model to compare with
  std::vector<std::string> layouts;    // PATTERN=SPEC, or "auto"
  std::vector<std::string> precision;  // see read_precision()
  std::optional<double> min_accuracy, max_loss, max_difference, min_agreement;
  bool fail_if_slower = false;  // fail for weights slower than dense; see slower_layouts()
  Index batch = 0;              // fail for weights slower than dense; see check_layouts()
  int repeats = 0;              // timed runs of each batch
  // "cuda", "cuda:N": moves weights and inputs to the device, where operators are not fused.
  std::string device = "cpu";
  bool explain = false;  // rows are the steps of the plan, not the outputs
  std::string fill;      // instead of a run on inputs: a text with [MASK] to fill in
  // Instead of a run on inputs: the number of characters to generate.
  Index generate = 0;
  std::optional<std::string> text;    // the prompt
  std::optional<double> temperature;  // of sampling; none: take the likeliest
  std::optional<Index> top;           // number of likeliest characters to sample from; none: all
  std::uint64_t seed = 0;             // of sampling
  bool force = false, show_progress = false;
};

// The first requested check, such as "--min-accuracy"; nullptr if none.
const char* check_of(const RunOptions& o);

}  // namespace sten
