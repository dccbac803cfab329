package lab

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// managerTimeout limits a request to a manager on this machine, which may be busy.
const managerTimeout = 5 * time.Second

// healthy checks the health of a manager on this machine.
func healthy(ctx context.Context, port int) bool {
	_, err := GetFromManager(ctx, port, "/healthz")
	return err == nil
}

// SyncedServices returns the number of syncs of the framework's service controller that have succeeded since the
// manager started: those that its work queue has ended, without those that it retries. Events do not have it: client-go
// drops Events while a thousand wait to be sent.
func (c *Cluster) SyncedServices(ctx context.Context) (int, error) {
	text, err := GetFromManager(ctx, c.port, "/metrics")
	if err != nil {
		return 0, fmt.Errorf("reading the metrics of ccm: %w", err)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		return 0, fmt.Errorf("parsing the metrics of ccm: %w", err)
	}
	const queue = "service"
	var ended, retried float64
	for _, metric := range families["workqueue_work_duration_seconds"].GetMetric() {
		if hasName(metric, queue) {
			ended += float64(metric.GetHistogram().GetSampleCount())
		}
	}
	for _, metric := range families["workqueue_retries_total"].GetMetric() {
		if hasName(metric, queue) {
			retried += metric.GetCounter().GetValue()
		}
	}
	return int(ended - retried), nil
}

// hasName reports whether a metric belongs to the work queue of a name.
func hasName(metric *dto.Metric, name string) bool {
	for _, label := range metric.GetLabel() {
		if label.GetName() == "name" && label.GetValue() == name {
			return true
		}
	}
	return false
}

// GetFromManager returns the response of a manager on this machine, which has a self-signed certificate.
func GetFromManager(ctx context.Context, port int, path string) (body string, err error) {
	client := &http.Client{Timeout: managerTimeout, Transport: &http.Transport{
		DisableKeepAlives: true,
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // the loopback
	}}
	url := fmt.Sprintf("https://127.0.0.1:%d%s", port, path)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return "", err
	}
	response, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, response.Body.Close()) }()
	content, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s of ccm: %s: %s", path, response.Status, content)
	}
	return string(content), err
}
