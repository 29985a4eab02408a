# SPDX-License-Identifier: Apache-2.0
from .arrays import Tensor as Tensor
from .files import load as load
from .files import save as save
from .model import Model as Model
from .native import Error as Error
from .native import dense_libraries as dense_libraries
from .native import set_threads as set_threads
from .native import threads as threads
from .nn import SparseLinear as SparseLinear
from .nn import sparsify as sparsify
from .nn import to_dense as to_dense
from .pruning import Energies as Energies
from .pruning import Energy as Energy
from .pruning import convert as convert
from .pruning import energy as energy
from .pruning import prune as prune

__version__: str
