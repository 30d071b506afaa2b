"""The recipe of Plumbline's bundled verifier: from all-MiniLM-L6-v2 and labelled
pairs of a document and a claim to a three-class cross-encoder in ONNX."""
