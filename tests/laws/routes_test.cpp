// SPDX-License-Identifier: Apache-2.0
// The table of docs/routes.md equals the plans of the built-in operators. STEN_UPDATE_GOLDEN=1
// writes it.
#include "libsten/core/registry/builtin.h"
#include "tests/autograd/operator_cases.h"
#include "tests/support/generated_page.h"

using namespace sten;
using namespace sten::testing;

namespace {

struct BuiltIn {
  Registry layouts;
  Operators all{layouts};
  std::vector<std::string> sparse;

  BuiltIn() {
    add_builtin(layouts);
    add_builtin_operators(all);
    for (const auto& l : layouts.layouts())
      if (l.name != "dense") sparse.push_back(l.name);
  }
};

// Rows with the same cells share a line, which has all of their names.
class Table {
 public:
  explicit Table(std::vector<std::string> columns) : columns_(std::move(columns)) {}
  void add(const std::string& row, std::vector<std::string> cells) {
    for (auto& [names, of] : rows_)
      if (of == cells) {
        names.push_back(row);
        return;
      }
    rows_.emplace_back(std::vector{row}, std::move(cells));
  }
  // The largest group, without a line of its own, follows as a list.
  std::string text() const {
    std::string out = "| |", rule = "|---|";
    for (const std::string& c : columns_) {
      out += " " + c + " |";
      rule += "---|";
    }
    out += "\n" + rule + "\n";
    const auto size = [](const auto& row) { return row.first.size(); };
    const auto most = std::ranges::max_element(rows_, {}, size);
    for (auto row = rows_.begin(); row != rows_.end(); ++row) {
      const auto& [names, cells] = *row;
      std::string line = "| " + (row == most ? "all others, below" : joined(names)) + " |";
      for (const std::string& c : cells) line += " " + c + " |";
      out += line + "\n";
    }
    return out + "\n" + listed(most->first);
  }

 private:
  static std::string joined(const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& n : with_ranges(names)) text += (text.empty() ? "" : ", ") + n;
    return text;
  }
  // "`op` 1 to 4" for three or more inputs of an operator, one after the other.
  static std::vector<std::string> with_ranges(const std::vector<std::string>& names) {
    std::vector<std::string> out;
    for (std::size_t i = 0, end = 0; i < names.size(); i = end) {
      end = i + 1;
      if (const std::size_t number = names[i].rfind(' ') + 1; number > 0) {
        int next = std::stoi(names[i].substr(number)) + 1;
        while (end < names.size() &&
               names[end] == names[i].substr(0, number) + std::to_string(next))
          ++end, ++next;
        if (end - i > 2) {
          out.push_back(fmt::format("{} to {}", names[i], next - 1));
          continue;
        }
      }
      while (i < end) out.push_back(names[i++]);
    }
    return out;
  }
  // Lines of at most 120 columns, without breaking names.
  static std::string listed(const std::vector<std::string>& all) {
    constexpr std::size_t most = 120;
    const std::vector<std::string> names = with_ranges(all);
    std::string out, line = "All others:";
    for (std::size_t i = 0; i < names.size(); ++i) {
      const std::string next = names[i] + (i + 1 < names.size() ? "," : ".");
      if (line.size() + 1 + next.size() > most) {
        out += line + "\n";
        line = next;
      } else {
        line += " " + next;
      }
    }
    return out + line + "\n";
  }

  std::vector<std::string> columns_;
  std::vector<std::pair<std::vector<std::string>, std::vector<std::string>>> rows_;
};

// The cell for the plan of `s`.
std::string cell(const Operators& all, const Signature& s) {
  const auto plan = all.plan(s);
  if (plan->kind == DispatchKind::exact) return "exact";
  std::string to;
  for (std::size_t i = 0; i < s.in.size(); ++i)
    if (plan->in[i] != s.in[i]) to = plan->in[i].text();
  if (plan->kind == DispatchKind::converted && to != "dense") return "to " + to;
  const bool is_after = std::ranges::find(plan->after, true) != plan->after.end();
  return is_after && to.empty() ? "after" : "dense";
}

// The maximum number of inputs in an operator's cases, of which integers and vectors stay dense.
struct InputsOfOp {
  std::vector<bool> can_be_sparse;
};
std::vector<std::pair<std::string, InputsOfOp>> operators_and_inputs() {
  std::vector<std::pair<std::string, InputsOfOp>> out;
  for (const OperatorCase& c : operator_cases()) {
    auto at = std::ranges::find(out, c.op, &std::pair<std::string, InputsOfOp>::first);
    if (at == out.end()) at = out.insert(at, {c.op, {}});
    std::vector<bool>& can = at->second.can_be_sparse;
    if (c.in.size() > can.size()) can.resize(c.in.size());
    for (std::size_t i = 0; i < c.in.size(); ++i)
      if (c.in[i].below == 0 && c.in[i].shape.size() > 1) can[i] = true;
  }
  return out;
}
std::string row_name(const std::string& op, const InputsOfOp& in, std::size_t i) {
  const bool is_only = std::ranges::count(in.can_be_sparse, true) == 1;
  return "`" + op + (is_only ? "`" : "` " + std::to_string(i + 1));
}

std::string of_inputs(const BuiltIn& b) {
  Table t(b.sparse);
  for (const auto& [op, in] : operators_and_inputs())
    for (std::size_t i = 0; i < in.can_be_sparse.size(); ++i) {
      if (!in.can_be_sparse[i]) continue;
      std::vector<std::string> cells;
      for (const std::string& layout : b.sparse) {
        Signature s{op, std::vector<Name>(in.can_be_sparse.size(), "dense")};
        s.in[i] = layout;
        cells.push_back(cell(b.all, s));
      }
      t.add(row_name(op, in, i), cells);
    }
  return t.text();
}

// The first input that can be sparse, and the output, in the same layout.
std::string of_both(const BuiltIn& b) {
  Table t(b.sparse);
  for (const auto& [op, in] : operators_and_inputs()) {
    const auto first = std::ranges::find(in.can_be_sparse, true);
    if (first == in.can_be_sparse.end()) continue;
    const auto i = static_cast<std::size_t>(first - in.can_be_sparse.begin());
    std::vector<std::string> cells;
    for (const std::string& layout : b.sparse) {
      Signature s{op, std::vector<Name>(in.can_be_sparse.size(), "dense"), {{"keep-all", layout}}};
      s.in[i] = layout;
      cells.push_back(cell(b.all, s));
    }
    t.add(row_name(op, in, i), cells);
  }
  return t.text();
}

std::string of_outputs(const BuiltIn& b) {
  Table t(b.sparse);
  for (const auto& [op, in] : operators_and_inputs()) {
    std::vector<std::string> cells;
    for (const std::string& layout : b.sparse)
      cells.push_back(cell(b.all, {op,
                                   std::vector<Name>(in.can_be_sparse.size(), "dense"),
                                   {{Sparsifier(Threshold{}), layout}}}));
    t.add("`" + op + "`", cells);
  }
  return t.text();
}

// The tensors saved for backward: an input's index, or none for the output.
std::vector<std::optional<std::size_t>> kept_by(const Operators& all, const std::string& op,
                                                std::size_t inputs) {
  std::vector<std::optional<std::size_t>> kept;
  const SavedForBackward saves = all.what(op).saves;
  if (saves == SavedForBackward::outputs) kept.push_back(std::nullopt);
  if (saves == SavedForBackward::inputs || saves == SavedForBackward::others)
    for (std::size_t i = saves == SavedForBackward::others; i < inputs; ++i) kept.emplace_back(i);
  return kept;
}

// The gradient's signature, dense.
Signature gradient_of(const std::string& op, std::size_t kept, std::size_t inputs) {
  return {op + ".grad", std::vector<Name>(1 + kept, "dense"), std::vector<OutSignature>(inputs)};
}

std::string from_dy(const BuiltIn& b) {
  Table t(b.sparse);
  for (const auto& [op, in] : operators_and_inputs()) {
    const std::size_t inputs = in.can_be_sparse.size();
    std::vector<std::string> cells;
    for (const std::string& layout : b.sparse) {
      Signature s = gradient_of(op, kept_by(b.all, op, inputs).size(), inputs);
      s.in[0] = layout;
      cells.push_back(cell(b.all, s));
    }
    t.add("`" + op + "`", cells);
  }
  return t.text();
}

// The layouts from dy and the saved output to the gradient of the first input, or of all inputs
// with the layout of dy.
std::string through(const BuiltIn& b) {
  Table t(b.sparse);
  for (const auto& [op, in] : operators_and_inputs()) {
    const std::size_t inputs = in.can_be_sparse.size();
    const auto kept = kept_by(b.all, op, inputs);
    std::vector<std::string> cells;
    for (const std::string& layout : b.sparse) {
      Signature s = gradient_of(op, kept.size(), inputs);
      s.in[0] = layout;
      for (std::size_t k = 0; k < kept.size(); ++k)
        if (!kept[k]) s.in[1 + k] = layout;
      for (std::size_t i = 0; i < (kept.empty() ? inputs : 1); ++i) s.out[i] = {"keep-all", layout};
      cells.push_back(cell(b.all, s));
    }
    t.add("`" + op + "`", cells);
  }
  return t.text();
}

std::string in_positions(const BuiltIn& b) {
  Table t(b.sparse);
  for (const auto& [op, in] : operators_and_inputs()) {
    const std::size_t inputs = in.can_be_sparse.size();
    const auto kept = kept_by(b.all, op, inputs);
    for (std::size_t i = 0; i < inputs; ++i) {
      const auto at = std::ranges::find(kept, std::optional(i));
      if (!in.can_be_sparse[i] || at == kept.end()) continue;
      std::vector<std::string> cells;
      for (const std::string& layout : b.sparse) {
        Signature s = gradient_of(op, kept.size(), inputs);
        s.in[static_cast<std::size_t>(1 + (at - kept.begin()))] = layout;
        s.out[i] = {Name("same-pattern"), layout};
        s.out[i].streaming = s.out[i].local = false;
        cells.push_back(cell(b.all, s));
      }
      t.add(row_name(op, in, i), cells);
    }
  }
  return t.text();
}

}  // namespace

TEST_CASE("the tables in docs/routes.md match the plans of the operators") {
  const BuiltIn b;
  check_page("docs/routes.md", "tests/laws/routes_test.cpp",
             {{"inputs", of_inputs(b)},
              {"both", of_both(b)},
              {"outputs", of_outputs(b)},
              {"gradients", from_dy(b)},
              {"through", through(b)},
              {"positions", in_positions(b)}});
}
