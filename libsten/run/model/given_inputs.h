// Inputs of a model that are given as files.
#pragma once
#include "libsten/run/model/model_source.h"

namespace sten {

struct GivenInputs {
  NamedValues<Tensor> values;  // in the dtypes that the model takes
  // The extent that all inputs with a batch share; of fixed sizes the first one of the first matrix.
  Index rows = 1;
  std::vector<std::string> filled;  // lines that say what was not given, and is as usual

  // Those of rows [begin, end) of the batch.
  NamedValues<Tensor> part(Index begin, Index end) const;
  std::vector<std::string> batched;  // inputs with a row for each of the batch
};

// An array that was given as an input.
struct GivenArray {
  std::string name;  // of the input; empty: the model says which it is
  Dense values;
  std::string what;  // its file, and in it its name: for messages
  std::string text;  // as it was given
};

// Of values NAME=FILE, and FILE: a .npy file, or a safetensors file whose tensors have the names of
// inputs. Each is read once, since it may be a pipe. Error (input) with the file.
std::vector<GivenArray> read_arrays(const std::vector<std::string>& given);

// An array without a name is for a model of one input, or the input_ids of one of text. Error (usage)
// for names that are not inputs, and inputs that are missing; Error (input) with the file for shapes
// and dtypes that do not fit, and numbers that the dtype does not hold.
GivenInputs inputs_of(const std::vector<GivenArray>& given, const RunnableModel& model);

// What models of text take beside input_ids and is nearly always the same: positions 0, 1, 2, ...,
// token types of 0 and a mask of 1, where they are not there.
void fill_text_inputs(const RunnableModel& model, GivenInputs& inputs);

// The array of a .npy file, or of "-".
Dense read_values(const std::string& file);

// Rows [begin, end) along the first axis.
Dense rows_of(const Dense& x, Index begin, Index end);

// As another dtype. Error with `what` in front where a number has to change.
Dense exactly_as(DType dtype, const Dense& x, const std::string& what);

}  // namespace sten
