package proto

// AppendCreateChannel appends a request to create a channel. cid is the client's number for
// it.
func AppendCreateChannel(dst []byte, cid uint32, name string, f Flags) []byte {
	o, start := f.order(), len(dst)
	dst = o.AppendUint16(Begin(dst, CmdCreateChannel, f), 1)
	return End(AppendSearchChannel(dst, cid, name, o), start)
}

// ParseCreateChannel parses a request to create channels.
func ParseCreateChannel(r *Reader) (channels []SearchChannel, err error) {
	for n := r.Uint16(); n > 0 && r.err == nil; n-- {
		channels = append(channels, SearchChannel{CID: r.Uint32(), Name: string(r.String())})
	}
	return channels, r.err
}

// Created is the answer to a request to create a channel. SID is the server's number for the
// channel.
type Created struct {
	CID, SID uint32
	Status   Status
}

// ParseCreated parses the answer to CREATE_CHANNEL.
func ParseCreated(r *Reader) (c Created, err error) {
	c.CID, c.SID, c.Status = r.Uint32(), r.Uint32(), r.Status()
	return c, r.err
}

// AppendCreated appends the answer to CREATE_CHANNEL.
func AppendCreated(dst []byte, c *Created, f Flags) []byte {
	o, start := f.order(), len(dst)
	dst = o.AppendUint32(o.AppendUint32(Begin(dst, CmdCreateChannel, f), c.CID), c.SID)
	return End(AppendStatus(dst, c.Status, o), start)
}

// AppendDestroyChannel appends a DESTROY_CHANNEL: the client's request, the server's answer to
// it, or the server's notification.
func AppendDestroyChannel(dst []byte, sid, cid uint32, f Flags) []byte {
	o, start := f.order(), len(dst)
	return End(o.AppendUint32(o.AppendUint32(Begin(dst, CmdDestroyChannel, f), sid), cid), start)
}

// ParseDestroyChannel parses a DESTROY_CHANNEL.
func ParseDestroyChannel(r *Reader) (sid, cid uint32, err error) {
	sid, cid = r.Uint32(), r.Uint32()
	return sid, cid, r.err
}
