// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <iostream>
#include <vector>

#include "libsten/sten.h"

using namespace sten;

struct Net : Module {
  Child<Linear> hidden = child<Linear>("hidden", 2, 16), out = child<Linear>("out", 16, 1);
  Var forward(const Var& x) const { return out(relu(hidden(x))); }
};

// Usage: library MODEL.safetensors NAME
int main(int argc, char** argv) try {
  if (argc != 3) fail_usage("expected MODEL and NAME, got {} arguments", argc - 1);

  NamedTensors model = load_tensors(argv[1]);
  const auto at = model.find(argv[2]);
  if (at == model.end()) fail_usage("{}: no tensor {}", argv[1], quote(argv[2]));
  Tensor& w = at->second;
  std::cout << argv[2] << ": " << to_string(w.shape()) << ' ' << name_of(w.dtype()) << ", "
            << w.bytes() << " bytes\n";

  const Spec one_of_ten = Spec::parse("nmg:n=1,m=10,g=4");
  w = sparsify(w, registry().sparsifier(one_of_ten), one_of_ten);
  std::cout << w.spec().str() << ": " << w.bytes() << " bytes\n";

  const Index rows = 8, columns = w.shape()[1];
  std::vector<float> v(static_cast<std::size_t>(rows * columns));
  for (std::size_t i = 0; i < v.size(); ++i) v[i] = std::sin(static_cast<float>(i));
  const Tensor x = tensor_of({rows, columns}, v);

  const Tensor y = linear(x, w);
  const std::vector<float> result = to_vector<float>(y);  // a copy, from any layout
  const std::span<const float> same = data<float>(y);     // no copy, of dense tensors
  const Tensor difference = sub(y, linear(x, w.to_dense()));
  const double squares = number(sum(mul(difference, difference), {0, 1}));  // of one element
  std::cout << result.size() << " outputs, " << (std::sqrt(squares) < 1e-3 ? "" : "not ")
            << "those of the dense weight\n";
  if (same[0] != result[0]) fail("data() and to_vector() differ");

  const Tensor in = tensor_of({4, 2}, std::vector<float>{0, 0, 0, 1, 1, 0, 1, 1}),
               wanted = tensor_of({4, 1}, std::vector<float>{0, 1, 1, 0});
  Net net;
  net.initialize(1);
  net.sparsify("hidden.weight",
               {registry().sparsifier(Spec::parse("magnitude:sparsity=0.25")), Spec("csr")});
  const AdamW adam({.rate = 0.03});
  double loss = 0;
  for (int step = 0; step < 300; ++step) {
    const Gradients g = gradients(net, [&] { return mse(net.forward(in), Var(wanted)); });
    for (Parameter* p : net.parameters()) adam.step(*p, g.of.at(p->name));
    loss = number(g.loss);
  }
  std::cout << "loss " << (loss < 0.05 ? "below" : "above") << " 0.05\n";

  const bool overwrite = true;
  net.save("net.safetensors", overwrite);
  Net again;
  again.load("net.safetensors");
  save_tensors("small.safetensors", model, overwrite);
  std::cout << load_tensors("small.safetensors").at(argv[2]).layout() << '\n';
} catch (const Error& e) {
  std::cerr << e.what() << '\n';
  return static_cast<int>(e.fault());
}
