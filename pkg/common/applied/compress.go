package applied

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"io"
)

// maxDecompressed is the size limit of what Decompress returns.
const maxDecompressed = 1 << 20

// Compress returns data compressed, in base64.
func Compress(data []byte) string {
	var compressed bytes.Buffer
	writer := gzip.NewWriter(&compressed)
	_, _ = writer.Write(data) // A buffer accepts everything.
	_ = writer.Close()
	return base64.StdEncoding.EncodeToString(compressed.Bytes())
}

// Decompress returns the beginning of what Compress was called with, up to a limit.
func Decompress(text string) ([]byte, error) {
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, err
	}
	reader, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(reader, maxDecompressed))
}
