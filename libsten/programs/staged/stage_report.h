// SPDX-License-Identifier: Apache-2.0
// Report on the stages of a run.
#pragma once
#include "libsten/programs/staged/state.h"
#include "libsten/report/report.h"

namespace sten {

// The report without rows.
Report stage_report();
void fill_row(const Report& r, std::vector<Cell>& row, const StageManifest& stage);

// "stage 2 of 5: sparsity 30.00 %, loss 1.2000, 3.1 s"
std::string stage_line(std::size_t k, std::size_t stages, const StageManifest& stage);

// Chart of the loss (of the energy, without losses) by sparsity. `first`: the loss of the input.
Chart stage_curve(const std::vector<StageManifest>& stages, std::optional<double> first);

// The number in a row's cell; 0 if there is none.
double cell_number(const Report& r, std::vector<Cell> row, const char* key);

}  // namespace sten
