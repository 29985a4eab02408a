// SPDX-License-Identifier: Apache-2.0
// Options of programs that take several inputs.
#pragma once
#include "apps/main.h"
#include "libsten/programs/batch/batch.h"

namespace sten::app {

// IN...; `details` are for --help-all and the manual.
void add_inputs(CLI::App& app, ManyInputs& many, const std::string& details);
void add_keep_going(CLI::App& app, ManyInputs& many);
// --out-dir, --keep-going and --skip-existing.
void add_batch(CLI::App& app, ManyInputs& many);
// Whether results go into --out-dir. Error (usage) without --out-dir unless one input is given, and
// an output or --dry-run.
bool is_batch(const ManyInputs& many, const OutputOptions& output);
// Prints each error as it comes.
void print_errors(ManyInputs& many, const char* program);

}  // namespace sten::app
