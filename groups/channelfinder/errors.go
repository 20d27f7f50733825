package channelfinder

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// statusError is an answer with a status other than 200.
type statusError struct {
	code    int
	message string // message of the service, may be empty
}

func (e *statusError) Error() string {
	text := fmt.Sprintf("HTTP %d %s", e.code, http.StatusText(e.code))
	if e.message != "" {
		text += ": " + e.message
	}
	return text
}

// readStatus returns the message of the answer. It leaves out the time that the answer also
// contains.
func readStatus(resp *http.Response) error {
	e := &statusError{code: resp.StatusCode}
	var answer struct {
		Message string `json:"message"`
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if err != nil || json.Unmarshal(text, &answer) != nil {
		return e
	}
	const most = 300
	e.message = strings.Join(strings.Fields(answer.Message), " ")
	if len(e.message) > most {
		e.message = strings.ToValidUTF8(e.message[:most], "") + "…"
	}
	return e
}

// cause returns why there is no answer. It leaves out details that change, such as the local
// port.
func (c *Client) cause(err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		return fmt.Errorf("no answer within %s", c.timeout)
	}
	if op, ok := errors.AsType[*net.OpError](err); ok {
		return op.Err
	}
	if get, ok := errors.AsType[*url.Error](err); ok { // contains the URL, which Names adds
		return get.Err
	}
	return err
}
