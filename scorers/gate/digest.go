package gate

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"google.golang.org/protobuf/encoding/protojson"

	plumblinev1 "plumbline/proto/plumbline/v1"
)

// digest is the SHA-256 of the policy's canonical form: protobuf-JSON with
// proto field names, unset fields left out, keys sorted and no blanks; numbers
// and texts as in RFC 8785, save that U+2028 and U+2029 are escaped. The binary encoding is not used,
// because its order of map entries and of fields is not promised to stay.
func digest(policy *plumblinev1.Policy) (string, error) {
	loose, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(policy)
	if err != nil {
		return "", fmt.Errorf("encode the policy: %w", err)
	}
	var tree any
	decoder := json.NewDecoder(bytes.NewReader(loose))
	decoder.UseNumber()
	if err := decoder.Decode(&tree); err != nil {
		return "", fmt.Errorf("decode the policy: %w", err)
	}
	var canonical bytes.Buffer
	encoder := json.NewEncoder(&canonical)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(tree); err != nil {
		return "", fmt.Errorf("encode the policy: %w", err)
	}
	sum := sha256.Sum256(bytes.TrimSuffix(canonical.Bytes(), []byte("\n")))
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}
