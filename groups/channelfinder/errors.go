package channelfinder

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"

	"varve.dev/varve/engine/destination"
)

// Errors become conditions of ArchiveGroups, which their authors may read. Authors choose the URL, so
// no error contains a part of an answer: it could be that of a service which they may not read.

// statusError is an answer with a status other than 200.
type statusError struct{ code int }

func (e *statusError) Error() string {
	return fmt.Sprintf("HTTP %d %s", e.code, http.StatusText(e.code))
}

// answerError says in our words what is wrong with an answer.
type answerError struct{ text string }

func (e *answerError) Error() string { return e.text }

func wrongAnswer(format string, args ...any) error {
	return &answerError{fmt.Sprintf(format, args...)}
}

// cause returns why there is no valid answer. It leaves out details that change, such as the local
// port, and all text of the answer.
func (c *Client) cause(err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	if refused, ok := errors.AsType[*destination.RefusedError](err); ok {
		return refused
	}
	if wrong, ok := errors.AsType[*answerError](err); ok {
		return wrong
	}
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		return fmt.Errorf("no answer within %s", c.timeout)
	}
	if op, ok := errors.AsType[*net.OpError](err); ok {
		return op.Err
	}
	if get, ok := errors.AsType[*url.Error](err); ok { // contains the URL, which Names adds
		err = get.Err
	}
	return withoutAnswer(err)
}

// withoutAnswer replaces errors of the standard library that may contain text of the answer.
func withoutAnswer(err error) error {
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
			return errors.New("an unknown authority signed its certificate")
		}
		return errors.New("its certificate is not valid for this host and time")
	}
	_, syntax := errors.AsType[*json.SyntaxError](err)
	_, kind := errors.AsType[*json.UnmarshalTypeError](err)
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return io.ErrUnexpectedEOF
	case errors.Is(err, io.EOF):
		return io.EOF
	case syntax, kind:
		return wrongAnswer("it is not a list of channels in JSON")
	}
	return errors.New("the answer is not valid HTTP or HTTPS; check the scheme and the port of the URL")
}
