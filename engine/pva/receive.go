package pva

import (
	"fmt"
	"slices"
	"time"

	"varve.dev/varve/engine/pva/proto"
)

// messageInterval is the least time between two messages of a server that are logged.
const messageInterval = 10 * time.Second

// message handles any message but most updates. The error ends the circuit.
func (c *circuit) message(h *proto.Header, payload []byte) error {
	r := proto.NewReader(payload, h.Order())
	switch h.Command {
	case proto.CmdMonitor:
		c.monitor(h.Order(), payload)
		return nil
	case proto.CmdConnectionValidate:
		return c.logIn(&r)
	case proto.CmdConnectionValidated:
		return c.loggedIn(&r)
	case proto.CmdCreateChannel:
		return c.created(&r)
	case proto.CmdDestroyChannel:
		return c.destroyed(&r)
	case proto.CmdSearchResponse:
		return c.searched(&r)
	case proto.CmdMessage:
		c.say(&r)
	case proto.CmdEcho: // that it came is all
	}
	return nil // of no use, or of a protocol to come
}

// malformed returns the error of a message that does not decode.
func malformed(what proto.Command, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("decoding %v: %w", what, err)
}

// logIn answers the server's offer to let us in.
func (c *circuit) logIn(r *proto.Reader) error {
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
		return fmt.Errorf("the server accepts none of %s and %s, but %q", proto.CA, proto.Anonymous, offer.Methods)
	}
	c.send(func(dst []byte) []byte { return proto.AppendLogin(dst, &login, c.flags()) })
	return nil
}

// loggedIn handles the server's word that it lets us in, or not.
func (c *circuit) loggedIn(r *proto.Reader) error {
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
	c.client.mu.Lock()
	defer c.client.mu.Unlock()
	c.up = true
	close(c.greeted)
	if c.pinned {
		c.client.hastenLocked()
	}
	return nil
}

// searched handles an answer to a search by TCP.
func (c *circuit) searched(r *proto.Reader) error {
	s, err := proto.ParseSearchResponse(r)
	if err != nil {
		return malformed(proto.CmdSearchResponse, err)
	}
	c.answers = answers(&s, c.server.Addr(), c.answers)
	return nil
}

// say logs what the server has to say to people of an operation.
func (c *circuit) say(r *proto.Reader) {
	ioid, kind, text := r.Uint32(), proto.StatusKind(r.Uint8()), r.String()
	if r.Err() != nil || kind == proto.OK {
		return
	}
	c.client.metrics.messages.Inc()
	if c.now.Sub(c.said) < messageInterval {
		return
	}
	c.said = c.now
	pv := ""
	if s := c.at(ioid); s != nil && s.ch != nil {
		pv = s.ch.search.Name
	}
	const most = 500
	c.client.config.Log.Warn("message of a server", "server", c.server, "pv", pv, "text", string(text[:min(len(text), most)]))
}
