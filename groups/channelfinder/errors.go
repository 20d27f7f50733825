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

// statusError is an answer other than 200.
type statusError struct {
	code    int
	message string // the service's, may be empty
}

func (e *statusError) Error() string {
	text := fmt.Sprintf("HTTP %d %s", e.code, http.StatusText(e.code))
	if e.message != "" {
		text += ": " + e.message
	}
	return text
}

// readStatus takes the message out of the answer, which has the time in it too.
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

// cause says why there is no answer, without what differs from time to time,
// such as the port on this side.
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
	if get, ok := errors.AsType[*url.Error](err); ok { // has the URL, which Names gives
		return get.Err
	}
	return err
}
