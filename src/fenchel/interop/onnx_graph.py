"""A graph of ONNX operators under construction: values are names of tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fenchel.arrays import Array


class Graph:
    """Adds operators to the container of skl2onnx; floats have the type of the input, integers become float32."""

    def __init__(self, scope: Any, container: Any, rows: Any) -> None:
        from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType

        self._scope, self._container = scope, container
        double = isinstance(rows.type, DoubleTensorType)
        self.dtype: Any = np.float64 if double else np.float32
        self.rows: str = rows.full_name
        if not double and not isinstance(rows.type, FloatTensorType):
            self.rows = self.cast(self.rows, np.float32)

    def add(self, operator: str, *inputs: str | ArrayLike, **attributes: Any) -> str:
        """The output of an operator; an input that is no name is a constant."""
        names = [one if isinstance(one, str) else self.constant(one) for one in inputs]
        output: str = self._scope.get_unique_variable_name(operator.lower())
        name = self._scope.get_unique_operator_name(operator)
        self._container.add_node(operator, names, [output], name=name, op_version=self._version(operator), **attributes)
        return output

    def constant(self, values: ArrayLike) -> str:
        """A tensor of floats, integers or strings."""
        from onnx import TensorProto

        array: Array = np.asarray(values)
        if array.dtype.kind == "f":
            kind = TensorProto.DOUBLE if self.dtype is np.float64 else TensorProto.FLOAT
            array = array.astype(self.dtype)
        else:
            kind = TensorProto.INT64 if array.dtype.kind in "biu" else TensorProto.STRING
        flat = array.ravel().tolist()
        name: str = self._scope.get_unique_variable_name("constant")
        content = [str(one).encode() for one in flat] if kind == TensorProto.STRING else flat
        self._container.add_initializer(name, kind, list(array.shape), content)
        return name

    def cast(self, value: str, dtype: Any) -> str:
        """The tensor as another type."""
        from onnx.helper import np_dtype_to_tensor_dtype

        return self.add("Cast", value, to=np_dtype_to_tensor_dtype(np.dtype(dtype)))

    def name(self, value: str, output: Any) -> None:
        """Make a value an output of the model."""
        name = self._scope.get_unique_operator_name("Identity")
        self._container.add_node("Identity", [value], [output.full_name], name=name)

    def _version(self, operator: str) -> int:
        """The newest definition of the operator that the target has."""
        from onnx.defs import get_schema

        return int(get_schema(operator, self._container.target_opset).since_version)
