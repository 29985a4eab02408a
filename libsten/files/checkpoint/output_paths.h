// SPDX-License-Identifier: Apache-2.0
// Checks of the paths of inputs and outputs: all outputs differ from each other and from the
// inputs.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace sten {

// The path for the result of an input: `output`; if that ends in a slash and the input is a file, a
// file named by result_name() in that directory. Error (usage) for an input stream, which has no
// name.
std::string output_for(const std::string& input, const std::string& output,
                       bool writes_graph = true, std::string_view to = "dense");

// A path of a command line, and its flag.
struct NamedPath {
  std::string flag, path;
  bool container = false;  // a directory that outputs may be in
  // For the directory of a run: whether the run uses this name, which no other output may have.
  bool (*is_own_file)(const std::string& name) = nullptr;
};

// Error (usage) if an output is an input, in an input, or a directory that contains an input, by
// any path or link; if two outputs are the same, or one is in another that is not a container; and
// if several outputs go to standard output. Containers may contain inputs; a container of a run
// must not be in an input.
void check_outputs(const std::vector<NamedPath>& inputs, const std::vector<NamedPath>& outputs);

}  // namespace sten
