// What is said of the stages of a run.
#pragma once
#include "libsten/report/report.h"
#include "libsten/run/staged/state.h"

namespace sten {

// Its columns, without rows.
Report stage_report();
void fill_row(const Report& r, std::vector<Cell>& row, const StageManifest& stage);

// "stage 2 of 5: sparsity 30.00 %, loss 1.2000, 3.1 s"
std::string stage_line(std::size_t k, std::size_t stages, const StageManifest& stage);

// Loss, or energy where no loss is known, against sparsity. `first`: the loss on the input.
std::string stage_curve(const std::vector<StageManifest>& stages, std::optional<double> first);

// The number in a row, 0 if there is none.
double cell_number(const Report& r, std::vector<Cell> row, const char* key);

}  // namespace sten
