#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes cases of onnx 1.23's backend tests for operators newer than Debian's libonnx-testdata, for operators_test.cpp.

  make_operators.py [DIR]     DIR: operators/ beside this script

It takes onnx and safetensors. For each case it writes CASE.onnx, and in cases.safetensors its inputs and outputs as
CASE.in.NAME and CASE.out.NAME."""

import pathlib
import sys

import numpy
import onnx
from onnx.backend.test.case.node import collect_testcases
from safetensors.numpy import save_file

CASES = """
attention_3d attention_3d_attn_mask attention_3d_diff_heads_sizes_causal attention_3d_gqa_softcap attention_3d_scaled
attention_4d attention_4d_attn_mask_3d_causal attention_4d_attn_mask_bool_4d attention_4d_causal
attention_4d_causal_with_past_and_present attention_4d_diff_heads_with_past_and_present_mask4d attention_4d_gqa
attention_4d_softcap_neginf_mask attention_23_boolmask_fullymasked_row_nan_robustness attention_causal_boolmask_nan_robustness
attention_bidirectional_window attention_local_window_with_past attention_local_window_rank1_boolean_mask
rms_normalization_2d_axis0 rms_normalization_3d_axis_negative_1_epsilon rms_normalization_4d_axis2
rms_normalization_default_axis
rotary_embedding rotary_embedding_3d_input rotary_embedding_interleaved
rotary_embedding_no_position_ids_rotary_dim rotary_embedding_with_interleaved_rotary_dim
""".split()


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent / "operators")
    folder.mkdir(parents=True, exist_ok=True)
    tensors = {}
    known = {case.name.removeprefix("test_"): case for case in collect_testcases()}
    for name in CASES:
        case = known[name]
        onnx.save(case.model, folder / f"{name}.onnx")
        for kind, ports, values in zip(
            ("in", "out"), (case.model.graph.input, case.model.graph.output), case.data_sets[0]
        ):
            for port, value in zip(ports, values):
                tensors[f"{name}.{kind}.{port.name}"] = numpy.ascontiguousarray(value)
    save_file(tensors, folder / "cases.safetensors")


if __name__ == "__main__":
    main()
