"""OpenVINO's models of pure data movement: IR files and single layers, run by this package's engine.

`read_model` reads an IR (version 10 or 11) made of Parameter, Const, Result and movement: ShuffleChannels, Transpose,
VariadicSplit, Split, Broadcast, Reshape, Squeeze, Unsqueeze, Concat, Gather, Tile, Roll, StridedSlice, Slice,
DepthToSpace, SpaceToDepth. `read_layer` reads one ``<layer>`` as OpenVINO's documentation prints it. Both need
defusedxml (``pip install dnnmove[ir]``) and take nothing in a file on trust: whatever is wrong in it is an `IRError`.

Examples
--------
>>> import numpy as np
>>> from dnnmove import ir
>>> layer = ir.read_layer('''<layer id="3" type="ShuffleChannels">
...     <data axis="1" group="2"/>
...     <input> <port id="0"> <dim>1</dim> <dim>4</dim> </port> </input>
... </layer>''')
>>> layer(np.array([[0, 1, 2, 3]]))
array([[0, 2, 1, 3]])
"""

from dnnmove.ir._fragment import Layer, read_layer
from dnnmove.ir._model import Model, Port, read_model
from dnnmove.ir._xml import IRError

__all__ = ["IRError", "Layer", "Model", "Port", "read_layer", "read_model"]
