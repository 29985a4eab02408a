// sten-run: runs, checks and times a model.
#pragma once
#include "libsten/run/rewrite.h"

namespace sten {

struct RunOptions {
  std::string model;                 // see find_model()
  std::string config;                // what a model is that is weights alone; see describe_model()
  std::vector<std::string> inputs;   // see read_arrays()
  std::vector<std::string> outputs;  // see OutputFiles
  // A recipe, whose data section is taken; or data themselves: a .csv file, a text, a folder of
  // images.
  std::string data;
  std::string split;    // test | validation | train | all; empty: the first of these that there is
  std::string labels;   // of the rows of the inputs: .npy
  std::string against;  // another model
  std::vector<std::string> layouts;    // PATTERN=SPEC, or "auto"
  std::vector<std::string> precision;  // see read_precision()
  std::optional<double> min_accuracy, max_loss, max_difference, min_agreement;
  bool fail_if_slower = false;  // a weight in its layout than dense; see slower_layouts()
  Index batch = 0;  // rows that are computed at once; 0: all inputs, or as the recipe evaluates
  int repeats = 0;  // timed runs of each batch
  // "cuda", "cuda:N": weights and inputs are moved there, and each operator runs by itself.
  std::string device = "cpu";
  bool explain = false;  // rows are the steps of the plan, not the outputs
  std::string fill;      // instead of all that: a text with blanks, [MASK], that the model fills in
  // Instead of all that: so many characters by which the model continues a text.
  Index generate = 0;
  std::optional<std::string> text;    // the prompt
  std::optional<double> temperature;  // of drawing characters; without it the likeliest are taken
  std::optional<Index> top;           // how many characters there are to draw from; without it all
  std::uint64_t seed = 0;             // of what is drawn
  bool force = false, show_progress = false;
};

// The first of the checks that are asked for, "--min-accuracy"; nullptr: none is.
const char* check_of(const RunOptions& o);

// A row for each output. Error (usage) where options exclude each other; Error (input) with the
// file where something does not fit; a failure of the outcome where a check does not hold: then no
// output is written.
Outcome run_model(const RunOptions& options);

}  // namespace sten
