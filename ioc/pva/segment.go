package pva

import (
	"errors"

	"varve.dev/varve/engine/pva/proto"
)

var (
	errSegments = errors.New("the segments of a message are not in order")
	errTooLarge = errors.New("the request is too large")
)

// assembly joins the segments of a message.
type assembly struct {
	begun   bool
	command proto.Command
	payload []byte
}

// add adds a frame. If the frame completes a message, add returns the payload of the message.
// For a frame without segmentation this is the frame's own payload. The result is valid until
// the next call.
func (a *assembly) add(h *proto.Header, payload []byte) (whole []byte, complete bool, err error) {
	first, last, segmented := h.Segmented()
	switch {
	case !segmented && !a.begun:
		return payload, true, nil
	case !segmented, first == a.begun, a.begun && h.Command != a.command:
		return nil, false, errSegments
	case first:
		a.begun, a.command, a.payload = true, h.Command, a.payload[:0]
	}
	if len(a.payload)+len(payload) > maxRequest {
		return nil, false, errTooLarge
	}
	a.payload = append(a.payload, payload...)
	a.begun = !last
	return a.payload, last, nil
}
