// SPDX-License-Identifier: Apache-2.0
// ONNX models as checkpoints: names, elements inside and outside of the file, and refused models.
#include <doctest/doctest.h>

#include <filesystem>

#include "libsten/core/base/error.h"
#include "libsten/files/checkpoint/checkpoint.h"
#include "libsten/files/onnx/weights.h"
#include "tests/support/onnx_bytes.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tensors.h"
#include "tests/support/warnings.h"

using namespace sten;
using namespace sten::testing;
namespace pb = sten::testing::onnx;

namespace {

const std::string four = pb::raw<float>({1, 2, 3, 4});

std::string model_of(const std::vector<std::string>& initializers,
                     const std::vector<std::string>& nodes = {}) {
  return pb::model(pb::graph(nodes, initializers));
}

template <class T>
std::vector<T> elements(const Checkpoint& c, const std::string& name) {
  CAPTURE(name);
  const CheckpointTensor* t = c.find(name);
  REQUIRE(t);
  const Dense d = c.load(*t).to_dense();
  const auto v = d.values.as<T>();
  return {v.begin(), v.end()};
}

// The error for a model with one initializer, without the file name; "" if it is accepted.
std::string why_refused(const TempDir& dir, const std::string& tensor) {
  const std::string path = dir.write("m.onnx", model_of({tensor}));
  const std::string why = error_of([&] { (void)Checkpoint::open(path); });
  if (why.empty()) return why;
  CHECK(why.starts_with(path + ": "));
  CHECK(why.find('\n') == std::string::npos);
  return why.substr(path.size() + 2);
}

}  // namespace

TEST_CASE("ONNX checkpoint: initializers are read from every data field") {
  const TempDir dir;
  const auto f32 = [](float v) { return pb::tag(4, 5) + pb::raw<float>({v}); };
  const std::string path = dir.write(
      "m.onnx",
      model_of({pb::tensor("raw", 1, {2, 2}, pb::bytes(9, four)),
                pb::tensor("packed", 1, {4}, pb::bytes(4, four)),
                pb::tensor("single", 1, {2}, f32(5) + f32(6)),
                pb::tensor("pieces", 1, {3}, pb::bytes(4, pb::raw<float>({7, 8})) + f32(9)),
                pb::tensor("double", 11, {1}, pb::bytes(10, pb::raw<double>({0.5}))),
                pb::tensor("long", 7, {3}, pb::bytes(7, pb::packed({-1, 0, 1L << 40}))),
                pb::tensor("int", 6, {2}, pb::number(5, -7) + pb::number(5, 8)),
                pb::tensor("byte", 2, {2}, pb::bytes(5, pb::packed({0, 255}))),
                pb::tensor("char", 3, {2}, pb::bytes(5, pb::packed({-128, 127}))),
                pb::tensor("half", 10, {1}, pb::bytes(5, pb::packed({0x3c00}))),
                pb::tensor("bool", 9, {2}, pb::bytes(5, pb::packed({1, 0}))),
                pb::tensor("uint", 12, {1}, pb::bytes(11, pb::packed({0xffffffff}))),
                pb::tensor("scalar", 1, {}, pb::bytes(9, pb::raw<float>({3}))),
                pb::tensor("empty", 1, {0, 3}, ""), pb::tensor("/a/b", 1, {1}, f32(2))}));
  const Checkpoint c = Checkpoint::open(path);
  CHECK(c.is_onnx());
  CHECK(c.file_bytes() == std::filesystem::file_size(path));
  CHECK(c.tensors().size() == 15);
  CHECK(c.find("raw")->shape == Shape{2, 2});
  CHECK(elements<float>(c, "raw") == std::vector<float>{1, 2, 3, 4});
  CHECK(elements<float>(c, "packed") == std::vector<float>{1, 2, 3, 4});
  CHECK(elements<float>(c, "single") == std::vector<float>{5, 6});
  CHECK(elements<float>(c, "pieces") == std::vector<float>{7, 8, 9});
  CHECK(elements<double>(c, "double") == std::vector<double>{0.5});
  CHECK(elements<std::int64_t>(c, "long") == std::vector<std::int64_t>{-1, 0, 1L << 40});
  CHECK(elements<std::int32_t>(c, "int") == std::vector<std::int32_t>{-7, 8});
  CHECK(elements<std::uint8_t>(c, "byte") == std::vector<std::uint8_t>{0, 255});
  CHECK(elements<std::int8_t>(c, "char") == std::vector<std::int8_t>{-128, 127});
  CHECK(elements<std::uint16_t>(c, "half") == std::vector<std::uint16_t>{0x3c00});
  CHECK(c.find("half")->dtype == DType::F16);
  CHECK(elements<std::uint8_t>(c, "bool") == std::vector<std::uint8_t>{1, 0});
  CHECK(elements<std::uint32_t>(c, "uint") == std::vector<std::uint32_t>{0xffffffff});
  CHECK(c.find("scalar")->shape.empty());
  CHECK(elements<float>(c, "empty").empty());
  CHECK(elements<float>(c, "a/b") == std::vector<float>{2});  // no absolute path
}

TEST_CASE("ONNX checkpoint: the nodes that read a tensor determine its use") {
  const TempDir dir;
  const auto w = [](std::string_view name) {
    return pb::tensor(name, 1, {2, 2}, pb::bytes(9, four));
  };
  const std::string path = dir.write(
      "m.onnx",
      model_of(
          {w("onnx::MatMul_7"), w("fc.weight"), w("mix"), w("table"), w("shift"),
           pb::tensor("bias", 1, {4}, pb::bytes(9, four)),
           pb::tensor("kernel", 1, {1, 1, 2, 2}, pb::bytes(9, four)), w("foreign"), w("turned"),
           w("turned.out")},
          {pb::node("MatMul", "/encoder/layer.0/query/MatMul", {"x", "onnx::MatMul_7"}, {"a"}),
           pb::node("Gemm", "/fc/Gemm", {"a", "fc.weight", "bias"}, {"b"},
                    pb::integer_attribute("transB", 1)),
           pb::node("Gemm", "", {"b", "mix"}, {"c"}), pb::node("Gather", "", {"table", "i"}, {"d"}),
           pb::node("Add", "", {"d", "shift"}, {"e"}), pb::node("MatMul", "", {"e", "bias"}, {"f"}),
           pb::node("Conv", "c", {"g", "kernel"}, {"h"}),
           pb::node("MatMul", "", {"h", "foreign"}, {"k"}, pb::bytes(7, "com.example")),
           pb::node("Constant", "", {}, {"k1"}, pb::tensor_attribute("value", w("x"))),
           pb::node("Constant", "", {}, {"k2"}, pb::tensor_attribute("value", w("x"))),
           pb::node("Transpose", "", {"turned"}, {"turned.t"}),
           pb::node("MatMul", "", {"h", "turned.t"}, {"o"}),
           pb::node("Transpose", "", {"turned.out"}, {"turned.out.t"}),
           pb::node("Gemm", "", {"h", "turned.out.t"}, {"p"}, pb::integer_attribute("transB", 1)),
           pb::node("MatMul", "", {"k", "k1"}, {"l"}), pb::node("Add", "", {"l", "k2"}, {"m"})}));
  const Checkpoint c = Checkpoint::open(path);
  struct Known {
    const char* name;
    TensorUse use;
    bool in_by_out;
    const char* module;
  };
  for (const Known& k : std::initializer_list<Known>{
           {"onnx::MatMul_7", TensorUse::weight, true, "encoder.layer.0.query.weight"},
           {"fc.weight", TensorUse::weight, false, ""},
           {"mix", TensorUse::weight, true, ""},
           {"table", TensorUse::table, false, ""},
           {"shift", TensorUse::other, false, ""},
           {"bias", TensorUse::other, false, ""},
           {"kernel", TensorUse::weight, false, ""},
           {"foreign", TensorUse::other, false, ""},
           {"turned", TensorUse::weight, false, ""},
           {"turned.out", TensorUse::weight, true, ""},
           {"k1", TensorUse::weight, true, ""}}) {
    CAPTURE(k.name);
    const CheckpointTensor* t = c.find(k.name);
    REQUIRE(t);
    CHECK(t->use == k.use);
    CHECK(t->in_by_out == k.in_by_out);
    CHECK(t->module == k.module);
  }
  CHECK(!c.find("k2"));  // a constant that is not a weight
}

TEST_CASE("ONNX checkpoint: external data are read as shards, and invalid locations are rejected") {
  const TempDir dir;
  std::filesystem::create_directory(dir / "data");
  dir.write("data/w.bin", "....." + four);
  const auto with = [&](const std::string& data) { return pb::tensor("w", 1, {2, 2}, data); };
  const std::string path =
      dir.write("m.onnx", model_of({with(pb::external("data/w.bin", "5", "16")),
                                    pb::tensor("v", 1, {1}, pb::external("data/w.bin", "17"))}));
  const Checkpoint c = Checkpoint::open(path);
  CHECK(c.shards().size() == 2);
  CHECK(elements<float>(c, "w") == std::vector<float>{1, 2, 3, 4});
  CHECK(elements<float>(c, "v") == std::vector<float>{4});

  const auto refused = [&](const std::string& data, const std::string& why) {
    CHECK(why_refused(dir, with(data)) == "'w': " + why);
  };
  refused(pb::external("data/w.bin", "6"),
          "external data: 16 bytes at byte 6 exceed 'data/w.bin', which has 21 bytes");
  refused(pb::external("data/w.bin", "22"),
          "external data: 16 bytes at byte 22 exceed 'data/w.bin', which has 21 bytes");
  refused(pb::external("data/w.bin", "9223372036854775807"),
          "external data: 16 bytes at byte 9223372036854775807 exceed 'data/w.bin', which has 21 "
          "bytes");
  refused(pb::external("data/w.bin", "0", "15"),
          "expected 16 bytes for shape [2, 2] of F32, got 15");
  refused(pb::external("none.bin"), "external data in 'none.bin': file not found");
  refused(pb::external("../w.bin"),
          "external data in '../w.bin': the name is a path that leaves its directory");
  refused(pb::external("data/../../w.bin"),
          "external data in 'data/../../w.bin': the name is a path that leaves its directory");
  refused(pb::external("/etc/passwd"),
          "external data in '/etc/passwd': the name is an absolute path");
  refused(pb::external("a\nb"), "external data in 'a\\nb': the name holds control characters");
  refused(pb::external(""), "external data in '': the name is empty");
  refused(pb::external("m.onnx"), "external data must be in another file than the model");
  const TempDir outside;
  outside.write("w.bin", four);
  std::filesystem::create_symlink(outside / "w.bin", dir / "link.bin");
  CHECK(why_refused(dir, with(pb::external("link.bin"))).find("outside the directory") !=
        std::string::npos);
  // A pipe has no directory.
  const MappedFile file = MappedFile::open(path);
  CHECK(error_of([&] { (void)Checkpoint::of(file); }).find("got a stream") != std::string::npos);
}

TEST_CASE("ONNX checkpoint: malformed initializers are rejected") {
  const TempDir dir;
  const auto refused = [&](const std::string& tensor, const std::string& why) {
    CHECK(why_refused(dir, tensor) == why);
  };
  const std::string raw = pb::bytes(9, four);
  refused(pb::tensor("w", 1, {5}, raw), "'w': expected 20 bytes for shape [5] of F32, got 16");
  refused(pb::tensor("w", 1, {3}, raw), "'w': expected 12 bytes for shape [3] of F32, got 16");
  refused(pb::tensor("w", 1, {1}, ""), "'w': expected 4 bytes for shape [1] of F32, got 0");
  refused(pb::tensor("w", 0, {4}, raw), "'w': unknown data type 0");
  refused(pb::tensor("w", 25, {4}, raw), "'w': unknown data type 25");
  refused(pb::tensor("w", -1, {4}, raw), "'w': unknown data type -1");
  CHECK(why_refused(dir, pb::tensor("w", 1, {-4}, raw)).starts_with("'w': "));
  CHECK(why_refused(dir, pb::tensor("w", 1, {1L << 40, 1L << 40}, raw)).starts_with("'w': "));
  refused(pb::tensor("", 1, {4}, raw), "'': the name is empty");
  refused(pb::tensor("///", 1, {4}, raw), "'///': the name is an absolute path");
  refused(pb::tensor("a\x1b[2J", 1, {4}, raw), "'a\\x1b[2J': the name holds control characters");
  refused(pb::tensor("w", 7, {2}, pb::bytes(5, pb::packed({1, 2}))),
          "'w': elements of INT64 are stored in a field of other types");
  refused(pb::tensor("w", 7, {2}, pb::bytes(7, pb::packed({1}))),
          "'w': too few bytes for shape [2]: got 1");
  refused(pb::tensor("w", 7, {2}, pb::bytes(7, pb::packed({1, 2, 3}))),
          "'w': too many elements for shape [2]");
  refused(pb::tensor("w", 7, {2}, pb::bytes(7, pb::packed({1L << 40}))),
          "'w': expected 2 elements for shape [2], got 1");
  refused(pb::tensor("w", 7, {1}, pb::bytes(7, "\x80")), "'w': element 0 is truncated or too long");
  refused(pb::tensor("w", 2, {1}, pb::bytes(5, pb::packed({256}))),
          "'w': element 0 does not fit UINT8");
  refused(pb::tensor("w", 2, {1}, pb::bytes(5, pb::packed({-1}))),
          "'w': element 0 does not fit UINT8");
  refused(pb::tensor("w", 3, {1}, pb::bytes(5, pb::packed({128}))),
          "'w': element 0 does not fit INT8");
  refused(pb::tensor("w", 9, {1}, pb::bytes(5, pb::packed({2}))),
          "'w': element 0 does not fit BOOL");
  refused(pb::tensor("w", 12, {1}, pb::bytes(11, pb::packed({1L << 32}))),
          "'w': element 0 does not fit UINT32");
  refused(pb::tensor("w", 1, {3},
                     pb::tag(4, 5) + pb::raw<float>({1}) + pb::tag(4, 5) + pb::raw<float>({2})),
          "'w': expected 12 bytes for shape [3] of FLOAT, got 8");
  const std::string twice =
      dir.write("m.onnx", model_of({pb::tensor("w", 1, {4}, raw), pb::tensor("w", 1, {4}, raw)}));
  CHECK(error_of([&] { (void)Checkpoint::open(twice); }).ends_with("duplicate tensor name 'w'"));
}

TEST_CASE("ONNX checkpoint: initializers of unsupported types are skipped with a note") {
  const TempDir dir;
  const std::string path =
      dir.write("m.onnx", model_of({pb::tensor("text", 8, {1}, pb::bytes(6, "x")),
                                    pb::tensor("four", 22, {2}, pb::bytes(9, "x")),
                                    pb::tensor("w", 1, {4}, pb::bytes(9, four))}));
  const MappedFile file = MappedFile::open(path);
  const OnnxModel model = read_onnx_model(file.bytes(), "m.onnx");
  const OnnxWeights found = find_onnx_weights(model.graph, {file.bytes(), "m.onnx"});
  CHECK(found.tensors.size() == 1);
  CHECK(found.notes ==
        std::vector<std::string>{"2 of the initializers, such as 'text' of STRING, cannot "
                                 "be read, and are left out"});
}
