package pva

import (
	"fmt"
	"slices"
	"time"

	"varve.dev/varve/engine/client"
	"varve.dev/varve/engine/pva/proto"
)

// messageInterval is the minimum time between two log lines about messages of a server.
const messageInterval = 10 * time.Second

// handleMessage handles any message, except updates that consist of one frame. The returned
// error ends the circuit.
func (c *circuit) handleMessage(h *proto.Header, payload []byte) error {
	r := proto.NewReader(payload, h.Order())
	switch h.Command {
	case proto.CmdMonitor:
		c.handleMonitor(h.Order(), payload)
		return nil
	case proto.CmdConnectionValidate:
		return c.handleValidate(&r)
	case proto.CmdConnectionValidated:
		return c.handleValidated(&r)
	case proto.CmdCreateChannel:
		return c.handleCreated(&r)
	case proto.CmdDestroyChannel:
		return c.handleDestroyed(&r)
	case proto.CmdSearchResponse:
		return c.handleSearchResponse(&r)
	case proto.CmdMessage:
		c.logMessage(&r)
	case proto.CmdEcho: // shows only that the server is alive
	}
	return nil // the message is not for this client, or is of a later version
}

// malformed returns an error for a message that does not decode. It returns nil if err is nil.
func malformed(what proto.Command, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("decoding %v: %w", what, err)
}

// handleValidate answers the server's offer of authentication methods with a login.
func (c *circuit) handleValidate(r *proto.Reader) error {
	offer, err := proto.ParseOffer(r)
	if err != nil {
		return malformed(proto.CmdConnectionValidate, err)
	}
	config := &c.client.config
	login := proto.Login{ReceiveBuffer: 1 << 16, Registry: 1<<15 - 1, Method: proto.Anonymous}
	switch {
	case slices.Contains(offer.Methods, proto.CA):
		login.Method, login.User, login.Host = proto.CA, config.User, config.Host
	case len(offer.Methods) > 0 && !slices.Contains(offer.Methods, proto.Anonymous):
		return fmt.Errorf("the server accepts only the authentication methods %q, neither %s nor %s", offer.Methods, proto.CA, proto.Anonymous)
	}
	c.Send(func(dst []byte) []byte { return proto.AppendLogin(dst, &login, c.flags()) })
	return nil
}

// handleValidated handles the server's answer to the login.
func (c *circuit) handleValidated(r *proto.Reader) error {
	status := r.Status()
	if err := r.Err(); err != nil {
		return malformed(proto.CmdConnectionValidated, err)
	}
	if err := status.Err(); err != nil {
		return fmt.Errorf("the server refused %s: %w", c.client.config.User, err)
	}
	if c.ready {
		return nil
	}
	c.ready = true
	for i := range c.slots {
		if s := &c.slots[i]; s.state == slotCreating {
			c.create(s, uint32(i))
		}
	}
	c.SetGreeted(true)
	return nil
}

// handleSearchResponse handles an answer to a search over TCP.
func (c *circuit) handleSearchResponse(r *proto.Reader) error {
	s, err := proto.ParseSearchResponse(r)
	if err != nil {
		return malformed(proto.CmdSearchResponse, err)
	}
	c.answers = appendAnswers(c.answers, &s, c.Server.Addr(), client.Origin{Circuit: c.Link})
	return nil
}

// logMessage logs a text that the server has sent about an operation.
func (c *circuit) logMessage(r *proto.Reader) {
	ioid, kind, text := r.Uint32(), proto.StatusKind(r.Uint8()), r.String()
	if r.Err() != nil || kind == proto.OK {
		return
	}
	c.client.metrics.messages.Inc()
	if c.now.Sub(c.logged) < messageInterval {
		return
	}
	c.logged = c.now
	pv := ""
	if s := c.at(ioid); s != nil && s.ch != nil {
		pv = s.ch.Name()
	}
	const most = 500
	c.client.config.Log.Warn("message of a server", "server", c.Server, "pv", pv, "text", string(text[:min(len(text), most)]))
}
