"""Tests of the export on tiny random models; each run asserts parity itself.

    python -m unittest            in this folder
    PLUMBLINE=… python -m unittest    with the engine too
"""

import importlib.util
import json
import os
import shutil
import tempfile
import unittest
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import transformers as hf
from onnx import TensorProto, helper, numpy_helper

import export
import quantize
import tiny

PLUMBLINE = os.environ.get("PLUMBLINE")
GOLDEN = Path(__file__).parent / "testdata"


class Folder(unittest.TestCase):
    def setUp(self):
        self.dir = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.dir)

    def run_export(self, name, *more):
        options = tiny.write(name, self.dir)
        out = self.dir / f"{name}.out"
        arguments = [str(self.dir / name), str(out), *options, *more]
        export.export(export.parse(arguments + (["--plumbline", PLUMBLINE] if PLUMBLINE else [])))
        return out, json.loads((out / "manifest.json").read_text(encoding="utf-8"))


class TestExport(Folder):
    def test_every_architecture(self):
        for name in tiny.MODELS:
            with self.subTest(name):
                out, manifest = self.run_export(name)
                kept = json.loads((GOLDEN / name / "manifest.json").read_text(encoding="utf-8"))
                # Weights are random numbers of one version of PyTorch.
                for part in (manifest, kept):
                    del part["files"]["weights"]
                self.assertEqual(manifest, kept)
                support = [row["probabilities"]["entailment"] for row in json.loads((out / "reference.json").read_text(encoding="utf-8"))]
                self.assertGreater(max(support) - min(support), 0.02)

    def test_storage(self):
        for weights in ("fp16", "int8"):
            with self.subTest(weights):
                out, manifest = self.run_export("nli-bert", "--weights", weights)
                self.assertEqual(manifest["weights_format"], f"onnx-{weights}-storage")
                self.assertEqual(sorted(p.name for p in out.iterdir()), ["manifest.json", f"model.{weights}.onnx", "reference.json", "tokenizer.json"])
                shutil.rmtree(out)

    def test_what_cannot_be_told(self):
        for options, message in ((["--classes", "entailment,neutral,contradiction"], "has 2 classes"), ([], "give --classes")):
            with self.subTest(message), self.assertRaisesRegex(export.Refused, message):
                tiny.write("nli-roberta", self.dir)
                export.export(export.parse([str(self.dir / "nli-roberta"), str(self.dir / "out"), *options]))

    def test_a_pair_that_fills_the_model_is_compared_or_refused(self):
        """This kind of RoBERTa has two positions fewer than its configuration says."""
        tokenizer = tiny.minicheck_roberta()[0]
        config = hf.RobertaPreLayerNormConfig(
            vocab_size=tokenizer.get_vocab_size(), max_position_embeddings=130, pad_token_id=1, type_vocab_size=1, num_labels=2, **tiny.SHAPE
        )
        folder, out = self.dir / "odd", self.dir / "out"
        hf.RobertaPreLayerNormForSequenceClassification(config).save_pretrained(folder)
        tokenizer.save(str(folder / "tokenizer.json"))
        with self.assertRaisesRegex(export.Refused, "a pair of 130 tokens: give --max-tokens"):
            export.export(export.parse([str(folder), str(out), "--minicheck"]))
        export.export(export.parse([str(folder), str(out), "--minicheck", "--max-tokens", "128"]))
        self.assertEqual(max(len(row["ids"]) for row in json.loads((out / "reference.json").read_text(encoding="utf-8"))), 128)

    def test_a_decoder_that_is_no_t5_is_refused(self):
        """BART's head would be left out, and parity compare a wrong network with itself."""
        tokenizer = tiny.minicheck_roberta()[0]
        shape = {"d_model": 16, "encoder_ffn_dim": 24, "decoder_ffn_dim": 24, "max_position_embeddings": 64}
        heads = {"encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 2, "decoder_attention_heads": 2}
        config = hf.BartConfig(vocab_size=tokenizer.get_vocab_size(), num_labels=3, **shape, **heads)
        folder = self.dir / "bart"
        hf.BartForSequenceClassification(config).save_pretrained(folder)
        tokenizer.save(str(folder / "tokenizer.json"))
        with self.assertRaisesRegex(export.Refused, "BartForSequenceClassification has a decoder"):
            export.export(export.parse([str(folder), str(self.dir / "out")]))

    def test_the_licence_is_that_of_the_cards_head(self):
        for text, want in (
            ("---\nlicense: mit\n---\n", "mit"),
            ("---\nlicense: [mit]\n---\n", "mit"),
            ("---\nlicense: \"cc-by-4.0\"\n---\n", "cc-by-4.0"),
            ("---\nlicense:\n- apache-2.0\ntags: x\n---\n", "apache-2.0"),
            ("---\ntags: x\n---\nlicense: mit\n", "not stated"),
        ):
            (self.dir / "README.md").write_text(text, encoding="utf-8")
            self.assertEqual(export.license_of(self.dir), want)

    def test_a_graph_that_differs_is_refused(self):
        write_graph = export.write_graph

        def spoiled(network, p, path):
            write_graph(network, p, path)
            model = onnx.load(str(path))
            weight = next(t for t in model.graph.initializer if len(t.dims) == 2)
            weight.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(weight) * np.float32(1.01), weight.name))
            onnx.save(model, str(path))
            return path

        self.addCleanup(setattr, export, "write_graph", write_graph)
        export.write_graph = spoiled
        with self.assertRaisesRegex(export.Refused, "nothing was kept"):
            self.run_export("nli-bert")
        self.assertEqual(list((self.dir / "nli-bert.out").iterdir()), [])


class TestFormats(Folder):
    def setUp(self):
        super().setUp()
        rng = np.random.default_rng(5)
        self.table = rng.normal(0, 1, (300, 32)).astype(np.float32)
        self.matrix = (rng.normal(0, 1, (32, 192)) * rng.uniform(0.01, 3, 192)).astype(np.float32)
        nodes = [helper.make_node("Gather", ["table", "ids"], ["x"]), helper.make_node("MatMul", ["x", "matrix"], ["y"])]
        graph = helper.make_graph(
            nodes, "two",
            [helper.make_tensor_value_info("ids", TensorProto.INT64, ["n"])],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 192])],
            [numpy_helper.from_array(self.table, "table"), numpy_helper.from_array(self.matrix, "matrix")],
        )  # fmt: skip
        self.path = self.dir / "two.onnx"
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), str(self.path))

    def run_graph(self, path):
        session = onnxruntime.InferenceSession(str(path))
        return session.run(None, {"ids": np.arange(300)})[0]

    def test_every_format_is_near_and_small(self):
        exact = self.table.astype(np.float64) @ self.matrix
        scale = np.abs(exact).max(axis=0)  # each column has a scale of its own
        # onnx-ir is wanted for few bits alone, which nothing here ships.
        formats = [name for name in quantize.FORMATS if "matmulnbits" not in name or importlib.util.find_spec("onnx_ir")]
        for name, path in quantize.make_formats(self.path, self.dir / "formats", formats).items():
            with self.subTest(name):
                worst = (np.abs(self.run_graph(path) - exact) / scale).max()
                self.assertLess(worst, {"fp16-storage": 1e-3, "4bit-matmulnbits": 0.3}.get(name, 0.02))
                self.assertLess(path.stat().st_size, 0.7 * self.path.stat().st_size)

    def test_storage_has_no_scale_across_rows(self):
        """A row alone equals the same row among others."""
        path = quantize.make_formats(self.path, self.dir / "formats", ["int8-storage"])["int8-storage"]
        session = onnxruntime.InferenceSession(str(path))
        alone = session.run(None, {"ids": np.array([7])})[0][0]
        np.testing.assert_allclose(alone, self.run_graph(path)[7], rtol=0, atol=1e-5)

    def test_scales_are_those_of_columns_and_rows(self):
        model = quantize.int8_storage(onnx.load(str(self.path)))
        shapes = {t.name: list(t.dims) for t in model.graph.initializer}
        self.assertEqual(shapes["table_scale"], [300, 1])
        self.assertEqual(shapes["matrix_scale"], [1, 192])


if __name__ == "__main__":
    unittest.main()
