"""Smaller files of an ONNX model.

Two of the formats are only a way to store: fp32 arithmetic on weights that ONNX
Runtime turns back into fp32 once, when it loads. A pair's answer then does not
depend on its neighbours in a batch. The others compute with few bits.

    python quantize.py model.onnx OUT [FORMAT …]
"""

import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

# Smaller weights are biases and norms: nothing to gain.
LEAST_SIZE = 4096


def output_axis(graph, name):
    """The axis of a weight whose entries share a scale: rows of a table that is
    looked up, columns of a matrix that is multiplied."""
    for node in graph.node:
        if name in node.input:
            transposed = node.op_type == "Gemm" and any(a.name == "transB" and a.i for a in node.attribute)
            return 0 if node.op_type == "Gather" or transposed else 1
    return 1


def int8_scales(weight, axis):
    """One scale for each index of an axis: that of 19 with the least squared
    error, since a single large entry would coarsen all others."""
    largest = np.abs(weight).max(axis=1 - axis, keepdims=True)
    best = np.where(largest == 0, 1, largest / 127)
    error = np.full(largest.shape, np.inf)
    for share in np.linspace(0.64, 1, 19):
        scale = np.where(largest == 0, 1, largest * share / 127)
        rounded = np.clip(np.rint(weight / scale), -127, 127) * scale
        squared = np.square(weight - rounded).sum(axis=1 - axis, keepdims=True)
        best, error = np.where(squared < error, scale, best), np.minimum(squared, error)
    return best.astype(np.float32)


def stored(model, restore):
    """Replaces the fp32 matrices by what restore makes of them: initialisers, and
    the nodes that turn those back. ONNX Runtime runs such nodes when it loads."""
    graph = model.graph
    initializers, nodes = [], []
    for tensor in graph.initializer:
        weight = numpy_helper.to_array(tensor) if tensor.data_type == TensorProto.FLOAT else None
        if weight is None or weight.ndim != 2 or weight.size < LEAST_SIZE:
            initializers.append(tensor)
            continue
        more, back = restore(tensor.name, weight, output_axis(graph, tensor.name))
        initializers += more
        nodes += back
    nodes += graph.node
    del graph.initializer[:], graph.node[:]
    graph.initializer.extend(initializers)
    graph.node.extend(nodes)
    return model


def fp16_storage(model):
    def restore(name, weight, _):
        half = numpy_helper.from_array(weight.astype(np.float16), name + "_fp16")
        return [half], [helper.make_node("Cast", [half.name], [name], to=TensorProto.FLOAT)]

    return stored(model, restore)


def int8_storage(model):
    """Cast and Mul rather than DequantizeLinear, which ONNX Runtime leaves in the
    graph in the hope to fuse it, and then runs for every pair."""

    def restore(name, weight, axis):
        scale = int8_scales(weight, axis)
        rounded = np.clip(np.rint(weight / scale), -127, 127).astype(np.int8)
        more = [numpy_helper.from_array(rounded, name + "_int8"), numpy_helper.from_array(scale, name + "_scale")]
        return more, [
            helper.make_node("Cast", [name + "_int8"], [name + "_cast"], to=TensorProto.FLOAT),
            helper.make_node("Mul", [name + "_cast", name + "_scale"], [name]),
        ]

    return stored(model, restore)


def dequantized(model):
    """int8_storage as most tools write it, to compare."""

    def restore(name, weight, axis):
        scale = int8_scales(weight, axis)
        rounded = np.clip(np.rint(weight / scale), -127, 127).astype(np.int8)
        more = [numpy_helper.from_array(rounded, name + "_int8"), numpy_helper.from_array(scale.reshape(-1), name + "_scale")]
        return more, [helper.make_node("DequantizeLinear", [name + "_int8", name + "_scale"], [name], axis=axis)]

    return stored(model, restore)


def int8_dynamic(source, target):
    from onnxruntime.quantization import QuantType, quantize_dynamic

    # reduce_range: without VNNI, sums of two int8 products overflow 16 bits.
    quantize_dynamic(source, target, per_channel=True, reduce_range=True, weight_type=QuantType.QInt8)


def few_bits(model, bits):
    """Matrices in blocks of 32, multiplied as they are; tables as int8_storage."""
    from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer

    quantizer = MatMulNBitsQuantizer(model, bits=bits, block_size=32, is_symmetric=True, accuracy_level=4)
    quantizer.process()
    return int8_storage(quantizer.model.model)


def converted(convert):
    def write(source, target):
        onnx.save(convert(onnx.load(source)), target)

    return write


FORMATS = {
    "fp16-storage": converted(fp16_storage),
    "int8-storage": converted(int8_storage),
    "int8-dequantizelinear": converted(dequantized),
    "int8-dynamic": int8_dynamic,
    "8bit-matmulnbits": converted(lambda model: few_bits(model, 8)),
    "4bit-matmulnbits": converted(lambda model: few_bits(model, 4)),
}


def make_formats(fp32_path, out_dir, formats=tuple(FORMATS)):
    """Writes model.FORMAT.onnx for each format and returns their paths by format."""
    out_dir = Path(out_dir)
    out_dir.mkdir(parents=True, exist_ok=True)
    paths = {}
    for name in formats:
        paths[name] = out_dir / f"model.{name}.onnx"
        FORMATS[name](str(fp32_path), str(paths[name]))
    return paths


if __name__ == "__main__":
    for name, path in make_formats(sys.argv[1], sys.argv[2], sys.argv[3:] or tuple(FORMATS)).items():
        print(f"{name:24} {path.stat().st_size / 1e6:8.1f} MB")
