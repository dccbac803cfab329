package lab

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"

	tracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// Traces receives the spans of ccm, as an OpenTelemetry collector does, and writes them to a file: one line of OTLP in
// JSON for each export, which collectors read with their otlpjsonfile receiver.
type Traces struct {
	server *http.Server
	config string

	mu    sync.Mutex
	file  *os.File
	spans int
	err   error
}

// StartTraces listens on loopback, and writes ccm's configuration of traces to a directory.
func StartTraces(file, dir string) (*Traces, error) {
	out, err := os.Create(file) //nolint:gosec // the user's file
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it does not wait
	if err != nil {
		return nil, errors.Join(err, out.Close())
	}
	t := &Traces{file: out, config: filepath.Join(dir, "tracing.yaml")}
	content := fmt.Sprintf("apiVersion: apiserver.config.k8s.io/v1\nkind: TracingConfiguration\nendpoint: %s\n"+
		"samplingRatePerMillion: 1000000\n", listener.Addr())
	if err := os.WriteFile(t.config, []byte(content), 0o600); err != nil {
		return nil, errors.Join(err, listener.Close(), out.Close())
	}
	t.server = &http.Server{Handler: t} //nolint:gosec // only ccm of this lab sends
	go func() { _ = t.server.Serve(listener) }()
	return t, nil
}

// Arg returns ccm's flag.
func (t *Traces) Arg() string { return "--tracing-config-file=" + t.config }

// ServeHTTP receives one export.
func (t *Traces) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = t.add(body)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
}

func (t *Traces) add(body []byte) error {
	var request tracepb.ExportTraceServiceRequest
	if err := proto.Unmarshal(body, &request); err != nil {
		return err
	}
	line, err := otlpJSON(&request)
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, resource := range request.GetResourceSpans() {
		for _, scope := range resource.GetScopeSpans() {
			t.spans += len(scope.GetSpans())
		}
	}
	_, err = t.file.Write(append(line, '\n'))
	t.err = errors.Join(t.err, err)
	return err
}

// Close stops receiving and returns the number of spans in the file.
func (t *Traces) Close() (spans int, err error) {
	err = t.server.Close()
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.spans, errors.Join(err, t.err, t.file.Close())
}

// otlpJSON encodes an export in OTLP's JSON: that of protocol buffers, with IDs in hexadecimal.
func otlpJSON(request proto.Message) ([]byte, error) {
	data, err := protojson.MarshalOptions{UseEnumNumbers: true}.Marshal(request)
	if err != nil {
		return nil, err
	}
	var tree any
	if err := json.Unmarshal(data, &tree); err != nil {
		return nil, err
	}
	if err := hexIDs(tree); err != nil {
		return nil, err
	}
	return json.Marshal(tree)
}

func hexIDs(tree any) error {
	switch node := tree.(type) {
	case []any:
		for _, child := range node {
			if err := hexIDs(child); err != nil {
				return err
			}
		}
	case map[string]any:
		for key, child := range node {
			text, isText := child.(string)
			if isText && (key == "traceId" || key == "spanId" || key == "parentSpanId") {
				id, err := base64.StdEncoding.DecodeString(text)
				if err != nil {
					return fmt.Errorf("%s %q: %w", key, text, err)
				}
				node[key] = hex.EncodeToString(id)
				continue
			}
			if err := hexIDs(child); err != nil {
				return err
			}
		}
	}
	return nil
}
