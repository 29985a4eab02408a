# SPDX-License-Identifier: Apache-2.0
"""Statistics of what goes into the linear layers of a PyTorch model, for sten-prune --statistics.

    statistics = Statistics(model)
    for batch in calibration_data:
        model(**batch)
    statistics.save("statistics.safetensors")
"""
import torch
from safetensors.torch import save_file


class Statistics:
    def __init__(self, model, gram=True):
        """gram=False: squares alone, which wanda and ria need; [in] for a layer and not [in, in]."""
        self.sums, self.gram = {}, gram
        for name, module in model.named_modules():
            if isinstance(module, torch.nn.Linear) or type(module).__name__ == "Conv1D":
                module.register_forward_hook(self._add(name + ".weight"))

    def _add(self, name):
        def hook(module, inputs, output):
            x = inputs[0].detach().reshape(-1, inputs[0].shape[-1]).float()
            new = {name + ".squares": (x * x).sum(0)} | ({name + ".gram": x.T @ x} if self.gram else {})
            for key, value in new.items():
                self.sums[key] = self.sums[key] + value.cpu() if key in self.sums else value.cpu()

        return hook

    def save(self, path):
        save_file(self.sums, path)
