// Package cache remembers the scores of pairs in front of a verifier.
package cache

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	lru "github.com/hashicorp/golang-lru/v2"

	"plumbline/scorers/entail"
)

// entryBytes is what one entry costs in memory, key and bookkeeping included
// (TestEntriesCostWhatTheyAreSaidTo measures it). Texts are not kept, only
// their hash, so that every entry costs the same.
const entryBytes = 288

// key is the hash of the model's digest and both texts.
type key [sha256.Size]byte

// Verifier answers from memory what it has seen and asks the verifier behind
// it for the rest. It implements entail.Verifier.
type Verifier struct {
	next    entail.Verifier
	entries *lru.Cache[key, entail.Scores]
}

// New puts a cache of at most maxBytes in front of next; the pairs that were
// used longest ago make room for new ones. With no room for a single entry it
// returns next as it is.
func New(next entail.Verifier, maxBytes int64) (entail.Verifier, error) {
	if maxBytes < entryBytes {
		return next, nil
	}
	entries, err := lru.New[key, entail.Scores](int(maxBytes / entryBytes))
	if err != nil {
		return nil, fmt.Errorf("cache of %d bytes: %w", maxBytes, err)
	}
	return &Verifier{next: next, entries: entries}, nil
}

// Describe implements entail.Verifier.
func (v *Verifier) Describe(ctx context.Context) (entail.Description, error) {
	return v.next.Describe(ctx)
}

// Verify implements entail.Verifier. Usage.CacheHits counts the pairs that were
// answered from memory; failures are never kept.
func (v *Verifier) Verify(ctx context.Context, pairs []entail.Pair) (entail.Batch, error) {
	description, err := v.next.Describe(ctx)
	if err != nil {
		return entail.Batch{}, err
	}
	batch := entail.Batch{Results: make([]entail.Result, len(pairs))}
	var missing []int
	var unknown []entail.Pair
	for i, pair := range pairs {
		scores, ok := v.entries.Get(keyOf(description.Digest, pair))
		if !ok {
			missing = append(missing, i)
			unknown = append(unknown, pair)
			continue
		}
		batch.Results[i].Scores = scores
	}
	batch.Usage = entail.Usage{
		CacheHits: len(pairs) - len(missing),
		Verifier:  description.Name,
		Digest:    description.Digest,
	}
	if len(missing) == 0 {
		return batch, nil
	}
	fresh, err := v.ask(ctx, unknown)
	if err != nil {
		return entail.Batch{}, err
	}
	if fresh.Usage.Digest != description.Digest && batch.Usage.CacheHits > 0 {
		// The model behind next was exchanged since it was described. The hits
		// are the old one's; a reply speaks for one model.
		return v.ask(ctx, pairs)
	}
	for k, i := range missing {
		batch.Results[i] = fresh.Results[k]
	}
	hits := batch.Usage.CacheHits
	batch.Usage = fresh.Usage
	batch.Usage.CacheHits += hits
	return batch, nil
}

// ask lets next score the pairs and keeps what it says under the digest of the
// model that answered.
func (v *Verifier) ask(ctx context.Context, pairs []entail.Pair) (entail.Batch, error) {
	batch, err := v.next.Verify(ctx, pairs)
	if err != nil {
		return entail.Batch{}, err
	}
	for i, r := range batch.Results {
		if r.Err == nil {
			v.entries.Add(keyOf(batch.Usage.Digest, pairs[i]), r.Scores)
		}
	}
	return batch, nil
}

// keyOf hashes the three strings with their lengths, so that no two splits of
// the same bytes collide.
func keyOf(digest string, pair entail.Pair) key {
	h := sha256.New()
	var length [8]byte
	for _, s := range []string{digest, pair.Premise, pair.Hypothesis} {
		binary.LittleEndian.PutUint64(length[:], uint64(len(s)))
		h.Write(length[:])
		h.Write([]byte(s))
	}
	var k key
	h.Sum(k[:0])
	return k
}
