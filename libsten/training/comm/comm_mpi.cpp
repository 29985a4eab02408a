// SPDX-License-Identifier: Apache-2.0
#include "libsten/training/comm/comm_mpi.h"

#include <charconv>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "kernels/plugin.h"
#include "libsten/core/base/error.h"
#include "libsten/core/base/text.h"
#include "libsten/core/base/version.h"
#include "libsten/training/comm/comm_self.h"
#include "libsten/training/comm/mpi_plugin.h"

namespace sten {
namespace {

constexpr const char* plugin_name = "libsten_mpi.so";

std::optional<int> scalar_in(const char* variable) {
  const char* text = std::getenv(variable);
  if (!text) return std::nullopt;
  const std::string_view all = text;
  int n = 0;
  const auto [end, error] = std::from_chars(all.begin(), all.end(), n);
  return error == std::errc() && end == all.end() ? std::optional(n) : std::nullopt;
}

}  // namespace

MpiLaunch mpi_launch() {
  // Open MPI's mpirun and srun --mpi=pmi2 set both variables; srun --mpi=pmix sets only the rank,
  // and Slurm the size.
  constexpr const char* variables[][2] = {{"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},
                                          {"PMI_SIZE", "PMI_RANK"},
                                          {"SLURM_STEP_NUM_TASKS", "PMIX_RANK"}};
  for (const auto& [size, rank] : variables)
    if (const auto n = scalar_in(size), r = scalar_in(rank); n && r) return {*n > 1, *r};
  return {};
}

std::shared_ptr<Communicator> comm_mpi() {
  const kernels::Plugin plugin = kernels::load_plugin(plugin_name);
  const std::string& path = plugin.path;
  if (!plugin.library)
    fail("MPI cannot be loaded for a run of several ranks: {}",
         printable(plugin.error.empty() ? path + ": no such file" : plugin.error));
  const auto version = plugin.symbol<mpi_plugin::Version>(mpi_plugin::version_name);
  const auto make = plugin.symbol<mpi_plugin::Make>(mpi_plugin::make_name);
  if (!version || !make)
    fail("{}: not the MPI library of sten: expected the symbols {} and {}", printable(path),
         mpi_plugin::version_name, mpi_plugin::make_name);
  if (sten::version() != version())
    fail("{}: expected version {}, got {}", printable(path), sten::version(), version());
  return std::shared_ptr<Communicator>(make());
}

std::shared_ptr<Communicator> comm_of_process() {
  return mpi_launch().is_one_of_several ? comm_mpi() : comm_self();
}

}  // namespace sten
