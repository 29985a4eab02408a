// Which places outputs may have: none that is an input, and each its own.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

namespace sten {

// Absolute, with links, ".", ".." and a slash at the end resolved; what does not exist yet, too,
// as that to which a link leads. Error where links lead in circles.
std::filesystem::path resolved(const std::string& path);

// Whether `path` is below `directory`; both resolved.
bool lies_in(const std::filesystem::path& path, const std::filesystem::path& directory);

// Whether an output of that name goes through a pipe, a device or a descriptor: "-", "/dev/stdout".
bool is_stream(const std::string& path);

// Where the result of an input goes: to `output`, or where that ends in a slash and the input is a
// file, to a file of its name in that directory (result_name()). Error (usage) for a stream,
// which has no name.
std::string output_for(const std::string& input, const std::string& output,
                       bool writes_graph = true, std::string_view to = "dense");

// A path of a command line, and the flag it came by.
struct NamedPath {
  std::string flag, path;
  bool container = false;  // a directory that outputs may lie in
  // Of the directory that a run keeps its files in: whether it has one of that name, which no
  // other output is.
  bool (*is_own_file)(const std::string& name) = nullptr;
};

// Error (usage) where an output is an input, a file in one, or a directory that one lies in, by
// whatever path or link; where two outputs are one place, or one lies in another that is no
// container; and where more than one goes to standard output. Containers may have inputs in them;
// one that keeps files lies in no input.
void check_outputs(const std::vector<NamedPath>& inputs, const std::vector<NamedPath>& outputs);

}  // namespace sten
