package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/spf13/cobra"
)

// client queries a running archive over HTTP.
type client struct{ url string }

func (c *client) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&c.url, "url", "http://127.0.0.1:17665", "URL of the archive")
}

// open requests a path and returns the answer's body, which the caller closes.
func (c *client) open(cmd *cobra.Command, path string) (io.ReadCloser, error) {
	req, err := http.NewRequestWithContext(cmd.Context(), http.MethodGet, strings.TrimSuffix(c.url, "/")+path, nil)
	if err != nil {
		return nil, fmt.Errorf("--url: %w", err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, fmt.Errorf("connecting to the archive at %s: %w; is it running?", c.url, err)
	}
	if resp.StatusCode == http.StatusOK {
		return resp.Body, nil
	}
	defer resp.Body.Close()
	var problem struct{ Error string }
	if json.NewDecoder(resp.Body).Decode(&problem) != nil || problem.Error == "" {
		problem.Error = resp.Status
	}
	return nil, fmt.Errorf("the archive at %s answered: %w", c.url, statusError{resp.StatusCode, problem.Error})
}

// statusError is an answer with an HTTP status other than 200.
type statusError struct {
	code int
	text string
}

func (e statusError) Error() string { return e.text }

// decode requests a path and decodes the JSON answer.
func (c *client) decode(cmd *cobra.Command, path string, into any) error {
	body, err := c.open(cmd, path)
	if err != nil {
		return err
	}
	defer body.Close()
	if err := json.NewDecoder(body).Decode(into); err != nil {
		return fmt.Errorf("decoding the answer of %s: %w", c.url, err)
	}
	return nil
}
