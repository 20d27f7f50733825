package pva

import (
	"errors"

	"varve.dev/varve/engine/pva/proto"
)

var errTooEarly = errors.New("the connection is not validated")

// request handles one request and appends the answer to c.buf. If the bytes are malformed, r
// has the error.
func (c *session) request(cmd proto.Command, r *proto.Reader, payload []byte) error {
	switch cmd {
	case proto.CmdConnectionValidate:
		return c.validate(r)
	case proto.CmdEcho:
		start := len(c.buf)
		c.buf = proto.End(append(proto.Begin(c.buf, proto.CmdEcho, fromServer), payload...), start)
		return nil
	}
	if !c.valid {
		return errTooEarly
	}
	switch cmd {
	case proto.CmdSearch:
		if q, err := proto.ParseSearch(r); err == nil {
			c.buf = c.server.appendFound(c.buf, &q)
		}
	case proto.CmdCreateChannel:
		c.createChannels(r)
	case proto.CmdDestroyChannel:
		c.destroyChannel(r)
	case proto.CmdGetField:
		c.getField(r)
	case proto.CmdGet:
		c.get(r)
	case proto.CmdMonitor:
		c.monitor(r)
	case proto.CmdDestroyRequest, proto.CmdCancelRequest:
		c.endRequest(cmd, r)
	case proto.CmdPut, proto.CmdPutGet, proto.CmdArray, proto.CmdProcess, proto.CmdRPC:
		q := proto.ParseRequest(r)
		c.fail(cmd, q, "the PVs of this server are read-only")
	}
	return nil // as in PVXS, the server ignores all other requests
}

// validate handles CONNECTION_VALIDATION.
func (c *session) validate(r *proto.Reader) error {
	login, err := proto.ParseLogin(r, &c.known)
	if err != nil {
		return err
	}
	var status proto.Status
	switch login.Method {
	case "", proto.Anonymous, proto.CA: // every user may read
		c.valid, c.registry = true, int(login.Registry)
	default:
		status = failure("the method of authentication was not offered")
	}
	c.buf = proto.AppendValidated(c.buf, status, fromServer)
	return status.Err()
}

func failure(text string) proto.Status { return proto.Status{Kind: proto.Error, Message: text} }

// fail answers a request with a failure.
func (c *session) fail(cmd proto.Command, q proto.Request, text string) {
	start := len(c.buf)
	c.buf = proto.BeginAnswer(c.buf, cmd, proto.Answer{IOID: q.IOID, Sub: q.Sub}, fromServer)
	c.buf = proto.End(proto.AppendStatus(c.buf, failure(text), proto.LittleEndian), start)
}
