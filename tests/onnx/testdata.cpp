// SPDX-License-Identifier: Apache-2.0
// Runs the models of ONNX's backend tests, as packaged in Debian's libonnx-testdata.
//
//   sten_onnx_testdata [DIR] [-v]
//
// DIR defaults to /usr/share/libonnx-testdata/data.
// Each model.onnx is imported and run on the inputs of each test_data_set_*, and its outputs are
// compared: integers and booleans exactly, floats within a tolerance. Models with unsupported
// operators or element types are refused by name at import. Exits with 1 if a case fails, or if
// fewer pass than `passed_before`, and with 77 without data.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <sstream>

#include "libsten/core/base/floats.h"
#include "libsten/core/base/log.h"
#include "libsten/files/checkpoint/checkpoint.h"
#include "libsten/files/onnx/model.h"
#include "libsten/model/fusion/fused_graph.h"
#include "libsten/model/nn/weights.h"
#include "libsten/model/onnx/import.h"
#include "tests/support/onnx_bytes.h"
#include "tests/support/temp_dir.h"

namespace {

using namespace sten;
namespace fs = std::filesystem;
namespace pb = sten::testing::onnx;

// Number of passed cases by kind; fewer are an error.
const std::map<std::string, int> passed_before = {
    {"node", 794}, {"pytorch-converted", 81}, {"pytorch-operator", 30}, {"simple", 7}};

// A case is one test_data_set of a model.
struct Counts {
  int cases = 0, passed = 0, refused = 0, failed = 0;
};

// onnx 1.12 saved BFLOAT16 as UINT16 of the same bits.
Dense as_saved(Dense x, std::optional<DType> meant) {
  if (x.dtype() == DType::U16 && meant == DType::BF16)
    x.values = Values(DType::BF16, x.values.bytes());
  return x;
}

// Reads a file with a TensorProto: as the only initializer of a model it becomes a checkpoint with
// one tensor.
struct SavedTensor {
  std::string name;  // may be empty
  Tensor value;
};
SavedTensor read_tensor(const TempDir& dir, const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream read;
  read << in.rdbuf();
  const std::string model = pb::model(pb::graph({}, {read.str() + pb::bytes(8, "value")}));
  fs::remove(dir / "tensor.onnx");  // tensors that are mapped keep the old one
  const Checkpoint c = Checkpoint::open(dir.write("tensor.onnx", model));
  if (c.tensors().empty()) fail("{} holds no tensor of a type that sten has", path.string());
  const std::string named = pb::model(pb::graph({}, {read.str()}));
  const OnnxModel own = read_onnx_model(std::as_bytes(std::span(named)), "tensor");
  return {std::string(own.graph.initializers.at(0).name), c.load(c.tensors()[0])};
}

bool is_number(DType t) { return is_prunable(t); }

// Float elements as double; other types are compared bitwise.
std::vector<double> numbers(const Dense& x) {
  return with_float(x.dtype(), [&](auto bits) {
    std::vector<double> out;
    for (const auto b : x.values.as<typename decltype(bits)::Bits>())
      out.push_back(double{bits.decode(b)});
    return out;
  });
}

// A stored result loses up to half an ulp; the tolerance is twice that.
double tolerance(DType t) {
  switch (t) {
    case DType::F16:
      return 0x1p-10;
    case DType::BF16:
      return 0x1p-7;
    case DType::F8_E4M3:
    case DType::F8_E5M2:
      return 0;
    default:
      return 1e-5;
  }
}

// The windows of ONNX 1.12 were computed with fewer digits of pi than the graphs they were taken
// apart to have. ONNX Runtime differs from them by 7e-5, too, and from sten by less than 1e-7.
bool is_inexact(const std::string& model) {
  return model.find("window") != std::string::npos && model.ends_with("_expanded");
}

// The difference of `got` and `wanted`; "" if they agree.
std::string difference(const Dense& got, const Dense& wanted, double least) {
  if (got.dtype() != wanted.dtype())
    return fmt::format("is {}, not {}", name_of(got.dtype()), name_of(wanted.dtype()));
  if (got.extents != wanted.extents)
    return fmt::format("is {}, not {}", to_string(got.extents), to_string(wanted.extents));
  if (!is_number(got.dtype())) {
    const bool same = std::equal(got.values.bytes().begin(), got.values.bytes().end(),
                                 wanted.values.bytes().begin(), wanted.values.bytes().end());
    return same ? "" : "has other elements";
  }
  const std::vector<double> x = numbers(got), y = numbers(wanted);
  const double most = std::max(least, tolerance(got.dtype()));
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i]))) continue;
    if (!(std::abs(x[i] - y[i]) <= most + most * std::abs(y[i])))
      return fmt::format("has {} at {}, not {}", x[i], i, y[i]);
  }
  return "";
}

// Whether a message names an unsupported feature: an operator, an attribute, an element type, or a
// result known only at run time.
bool names_what_is_missing(const std::string& message) {
  static const char* const refusals[] = {"unsupported operator",
                                         "unsupported attribute",
                                         "unsupported input",
                                         "unsupported data type",
                                         "expected a tensor: sequences",
                                         "dropout of training is unsupported",
                                         "random numbers are unsupported",
                                         "must be known at import",
                                         "unsupported output"};
  return std::any_of(std::begin(refusals), std::end(refusals),
                     [&](const char* r) { return message.find(r) != std::string::npos; });
}

std::vector<fs::path> files(const fs::path& dir, const std::string& prefix) {
  std::vector<fs::path> found;
  for (int i = 0; fs::exists(dir / fmt::format("{}_{}.pb", prefix, i)); ++i)
    found.push_back(dir / fmt::format("{}_{}.pb", prefix, i));
  return found;
}

std::vector<fs::path> folders(const fs::path& dir) {
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(dir))
    if (entry.is_directory()) found.push_back(entry.path());
  std::sort(found.begin(), found.end());
  return found;
}

struct Loaded {
  Checkpoint file;
  OnnxImport model;
  NamedValues<Tensor> weights;
};

// The difference of the outputs; "" if they agree.
std::string run_case(const Loaded& l, const OnnxGraph& graph, const TempDir& dir,
                     const fs::path& data) {
  const auto is_initializer = [&](std::string_view name) {
    return std::any_of(graph.initializers.begin(), graph.initializers.end(),
                       [&](const OnnxTensor& t) { return t.name == name; });
  };
  std::vector<std::string> names;
  for (const OnnxValue& v : graph.inputs)
    if (!is_initializer(v.name)) names.emplace_back(v.name);
  NamedValues<Tensor> inputs;
  std::size_t number = 0;
  for (const fs::path& path : files(data, "input")) {
    SavedTensor t = read_tensor(dir, path);
    // By name, otherwise by index.
    if (std::find(names.begin(), names.end(), t.name) == names.end() && number < names.size())
      t.name = names[number];
    ++number;
    const auto& ports = l.model.inputs;
    const auto port = std::find_if(ports.begin(), ports.end(),
                                   [&](const GraphPort& p) { return p.name == t.name; });
    if (port != ports.end())
      inputs.insert_or_assign(t.name, as_saved(t.value.to_dense(), port->dtype));
  }
  const std::string graph_name(graph.name);
  const NamedValues<Tensor> outputs = l.model.graph.run<Tensor>(l.weights, inputs);
  const std::vector<fs::path> wanted = files(data, "output");
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const std::string name(graph.outputs.at(i).name);
    const auto got = outputs.find(name);
    if (got == outputs.end()) return fmt::format("output {} is missing", name);
    const SavedTensor t = read_tensor(dir, wanted[i]);
    const Dense is = got->second.to_dense();
    const std::string why =
        difference(is, as_saved(t.value.to_dense(), is.dtype()), is_inexact(graph_name) ? 1e-4 : 0);
    if (!why.empty()) return fmt::format("output {} {}", name, why);
  }
  return "";
}

}  // namespace

int main(int argc, char** argv) {
  fs::path root = "/usr/share/libonnx-testdata/data";
  bool verbose = false;
  const fs::path debian = root;
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "-v")
      verbose = true;
    else
      root = argv[i];
  }
  if (!fs::is_directory(root)) {
    fmt::print("skipped: {} is missing; Debian's package libonnx-testdata has it\n", root.string());
    return 77;
  }

  const TempDir dir;
  std::map<std::string, Counts> counts;
  std::vector<std::string> failures;
  for (const fs::path& kind : folders(root)) {
    for (const fs::path& folder : folders(kind)) {
      const std::string path = folder / "model.onnx";
      if (!fs::exists(path)) continue;
      const std::string name = kind.filename().string() + "/" + folder.filename().string();
      Counts& count = counts[kind.filename()];
      std::vector<fs::path> sets = folders(folder);
      count.cases += static_cast<int>(sets.size());

      const MappedFile bytes = MappedFile::open(path);
      const OnnxModel model = read_onnx_model(bytes.bytes(), path);
      std::optional<Loaded> loaded;
      try {
        Checkpoint file = Checkpoint::open(path);
        OnnxImport imported = import_onnx(file);
        imported.graph = fused_graph(imported.graph, imported.inputs);
        auto weights = load_weights(imported.graph, file, imported.not_weights);
        loaded.emplace(Loaded{std::move(file), std::move(imported), std::move(weights)});
      } catch (const std::exception& e) {
        if (dynamic_cast<const Error*>(&e) && names_what_is_missing(e.what())) {
          count.refused += static_cast<int>(sets.size());
          if (verbose) fmt::print("refused {}: {}\n", name, e.what());
        } else {
          count.failed += static_cast<int>(sets.size());
          failures.push_back(fmt::format("{}: {}", name, e.what()));
        }
        continue;
      }
      for (const fs::path& data : sets) {
        std::string why;
        try {
          why = run_case(*loaded, model.graph, dir, data);
        } catch (const std::exception& e) {
          why = e.what();
        }
        if (why.empty()) {
          ++count.passed;
          if (verbose) fmt::print("passed {}\n", name);
        } else {
          ++count.failed;
          failures.push_back(fmt::format("{}: {}", name, why));
        }
      }
    }
  }

  for (const std::string& f : failures) fmt::print("FAILED {}\n", f);
  fmt::print("{:<20} | {:>5} | {:>6} | {:>15} | {:>6}\n", "kind", "cases", "passed",
             "refused by name", "failed");
  Counts all;
  bool worse = false;
  const auto row = [](const std::string& kind, const Counts& c) {
    fmt::print("{:<20} | {:>5} | {:>6} | {:>15} | {:>6}\n", kind, c.cases, c.passed, c.refused,
               c.failed);
  };
  for (const auto& [kind, c] : counts) {
    row(kind, c);
    all.cases += c.cases;
    all.passed += c.passed;
    all.refused += c.refused;
    all.failed += c.failed;
  }
  row("all", all);
  for (const auto& [kind, before] : passed_before) {
    if (root != debian || counts[kind].passed >= before) continue;
    fmt::print("WORSE: {} cases of {} passed, it was {}\n", counts[kind].passed, kind, before);
    worse = true;
  }
  return worse || !failures.empty();
}
