package proto

// Offer is the CONNECTION_VALIDATION that a server sends when a client connects.
type Offer struct {
	// ReceiveBuffer is the number of bytes that the server can receive at once. Registry is
	// the number of types that it can remember.
	ReceiveBuffer uint32
	Registry      uint16
	// Methods has the authentication methods that the server accepts: anonymous, ca, x509.
	Methods []string
}

// ParseOffer parses a server's CONNECTION_VALIDATION.
func ParseOffer(r *Reader) (v Offer, err error) {
	v.ReceiveBuffer, v.Registry = r.Uint32(), r.Uint16()
	for n := r.count(1); n > 0; n-- {
		v.Methods = append(v.Methods, string(r.String()))
	}
	return v, r.err
}

// AppendOffer appends a server's CONNECTION_VALIDATION.
func AppendOffer(dst []byte, v *Offer, f Flags) []byte {
	o, start := f.order(), len(dst)
	dst = Begin(dst, CmdConnectionValidate, f)
	dst = o.AppendUint32(dst, v.ReceiveBuffer)
	dst = o.AppendUint16(dst, v.Registry)
	dst = AppendSize(dst, len(v.Methods), o)
	for _, m := range v.Methods {
		dst = AppendString(dst, m, o)
	}
	return End(dst, start)
}

// These are authentication methods.
const (
	Anonymous = "anonymous"
	// CA sends the user and the host without verification, as Channel Access does.
	CA = "ca"
)

// Login is a client's answer to an Offer: its CONNECTION_VALIDATION.
type Login struct {
	ReceiveBuffer uint32
	Registry      uint16
	QoS           uint16
	Method        string
	User, Host    string // only for method CA
}

var loginType = NewStruct("", "user", Of(String), "host", Of(String))

// AppendLogin appends a client's CONNECTION_VALIDATION.
func AppendLogin(dst []byte, v *Login, f Flags) []byte {
	o, start := f.order(), len(dst)
	dst = Begin(dst, CmdConnectionValidate, f)
	dst = o.AppendUint32(dst, v.ReceiveBuffer)
	dst = o.AppendUint16(dst, v.Registry)
	dst = o.AppendUint16(dst, v.QoS)
	dst = AppendString(dst, v.Method, o)
	if v.Method == CA {
		dst = AppendType(dst, loginType, o)
		dst = AppendString(AppendString(dst, v.User, o), v.Host, o)
	} else {
		dst = append(dst, byte(Null))
	}
	return End(dst, start)
}

// ParseLogin parses a client's CONNECTION_VALIDATION. known has the types to which the client
// has given numbers.
func ParseLogin(r *Reader, known *Types) (v Login, err error) {
	v.ReceiveBuffer, v.Registry, v.QoS = r.Uint32(), r.Uint16(), r.Uint16()
	v.Method = string(r.String())
	t := r.Type(known)
	if t == nil || t.Code != Struct {
		return v, r.err // another method sends other data about its user
	}
	for i, m := range t.Members {
		switch name := t.Names[i]; {
		case m.Code == String && name == "user":
			v.User = string(r.String())
		case m.Code == String && name == "host":
			v.Host = string(r.String())
		default:
			r.Value(nil, m, known)
		}
	}
	return v, r.err
}

// AppendValidated appends a CONNECTION_VALIDATED.
func AppendValidated(dst []byte, s Status, f Flags) []byte {
	start := len(dst)
	return End(AppendStatus(Begin(dst, CmdConnectionValidated, f), s, f.order()), start)
}
