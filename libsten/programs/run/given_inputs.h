// SPDX-License-Identifier: Apache-2.0
// Inputs of a model from files.
#pragma once
#include "libsten/programs/run/model_source.h"

namespace sten {

struct GivenInputs {
  NamedValues<Tensor> values;  // in the dtypes of the model's inputs
  // The extent of the batch; in a model of fixed sizes, the first extent of the first matrix.
  Index rows = 1;
  std::vector<std::string> filled;  // notes on inputs that got defaults

  // The inputs of rows [begin, end) of the batch.
  NamedValues<Tensor> part(Index begin, Index end) const;
  std::vector<std::string> batched;  // inputs with a row per row of the batch
};

// An array that is an input.
struct GivenArray {
  std::string name;  // of the input; empty: the model decides
  Dense values;
  std::string what;  // file and name in the file, for messages
  std::string text;  // the option's value
};

// Whether an attention_mask is among the arrays.
bool has_mask(const std::vector<GivenArray>& given);

// Reads NAME=FILE and FILE: a .npy file, or a safetensors file whose tensors are named after
// inputs. Reads each file once, since it may be a pipe. Error (input) with the file.
std::vector<GivenArray> read_arrays(const std::vector<std::string>& given);

// Assigns arrays to the inputs of a model. An array without a name is the only input, or the
// input_ids of a language model. Error (usage) for unknown names and missing inputs; Error (input)
// with the file for a wrong shape or dtype, and for values that the dtype cannot hold.
GivenInputs inputs_of(const std::vector<GivenArray>& given, const RunnableModel& model);

// Adds missing inputs of language models: positions 0, 1, 2, ..., token types 0 and a mask of 1.
void fill_text_inputs(const RunnableModel& model, GivenInputs& inputs);

// Reads the array of a .npy file, or of "-".
Dense read_values(const std::string& file);

// Converts to another dtype. Error that starts with `what` if a value would change.
Dense exactly_as(DType dtype, const Dense& x, const std::string& what);

}  // namespace sten
