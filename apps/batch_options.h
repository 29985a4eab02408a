// The flags of programs that take many inputs.
#pragma once
#include "apps/main.h"
#include "libsten/run/batch.h"

namespace sten::app {

void add_keep_going(CLI::App& app, ManyInputs& many);
// --out-dir, --keep-going and --skip-existing.
void add_batch(CLI::App& app, ManyInputs& many);
// Whether results go into --out-dir; else there is one input, and one output unless it is a dry
// run: Error (usage).
bool is_batch(const ManyInputs& many, const OutputOptions& output);
// Prints each error as it comes.
void print_errors(ManyInputs& many, const char* program);

}  // namespace sten::app
