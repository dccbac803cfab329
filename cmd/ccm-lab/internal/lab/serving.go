package lab

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	dto "github.com/prometheus/client_model/go"
)

// managerTimeout limits a request to a manager on this machine, which may be busy.
const managerTimeout = 5 * time.Second

// healthy checks the health of a manager on this machine.
func healthy(ctx context.Context, port int) bool {
	_, err := GetFromManager(ctx, port, "/healthz")
	return err == nil
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
