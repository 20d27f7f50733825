package proto

import "fmt"

// Command is the kind of a message: the m_cmmd field of its header.
type Command uint16

// These are the commands, as in caProto.h.
const (
	CmdVersion       Command = 0
	CmdEventAdd      Command = 1
	CmdEventCancel   Command = 2
	CmdRead          Command = 3
	CmdWrite         Command = 4
	CmdSearch        Command = 6
	CmdEventsOff     Command = 8
	CmdEventsOn      Command = 9
	CmdReadSync      Command = 10
	CmdError         Command = 11
	CmdClearChannel  Command = 12
	CmdBeacon        Command = 13 // RSRV_IS_UP
	CmdNotFound      Command = 14
	CmdReadNotify    Command = 15
	CmdRepConfirm    Command = 17 // REPEATER_CONFIRM
	CmdCreateChan    Command = 18
	CmdWriteNotify   Command = 19
	CmdClientName    Command = 20
	CmdHostName      Command = 21
	CmdAccessRights  Command = 22
	CmdEcho          Command = 23
	CmdRepRegister   Command = 24 // REPEATER_REGISTER
	CmdCreateChFail  Command = 26
	CmdServerDisconn Command = 27
)

var commandNames = [...]string{
	CmdVersion: "VERSION", CmdEventAdd: "EVENT_ADD", CmdEventCancel: "EVENT_CANCEL", CmdRead: "READ", CmdWrite: "WRITE",
	CmdSearch: "SEARCH", CmdEventsOff: "EVENTS_OFF", CmdEventsOn: "EVENTS_ON", CmdReadSync: "READ_SYNC", CmdError: "ERROR",
	CmdClearChannel: "CLEAR_CHANNEL", CmdBeacon: "RSRV_IS_UP", CmdNotFound: "NOT_FOUND", CmdReadNotify: "READ_NOTIFY",
	CmdRepConfirm: "REPEATER_CONFIRM", CmdRepRegister: "REPEATER_REGISTER",
	CmdCreateChan: "CREATE_CHAN", CmdWriteNotify: "WRITE_NOTIFY", CmdClientName: "CLIENT_NAME", CmdHostName: "HOST_NAME",
	CmdAccessRights: "ACCESS_RIGHTS", CmdEcho: "ECHO", CmdCreateChFail: "CREATE_CH_FAIL", CmdServerDisconn: "SERVER_DISCONN",
}

// Valid reports whether c is a command of this protocol version.
func (c Command) Valid() bool { return int(c) < len(commandNames) && commandNames[c] != "" }

// String returns the name that the specification uses.
func (c Command) String() string {
	if c.Valid() {
		return commandNames[c]
	}
	return fmt.Sprintf("command(%d)", uint16(c))
}

// Minor is the minor protocol revision of this package. The major revision is 4.
const Minor = 13

// These are the minor revisions of the other side from which on a feature may be used.
const (
	MinorLargeArrays = 9  // extended headers and priorities
	MinorBeaconID    = 10 // numbered beacons
	MinorSequence    = 11 // sequence numbers in UDP VERSION messages
	MinorTCPSearch   = 12 // SEARCH over TCP
	MinorZeroCount   = 13 // count 0 requests all elements of a value
)

// These are the default ports.
const (
	ServerPort   = 5064
	RepeaterPort = 5065
)

// MaxPriority is the highest priority of a circuit.
const MaxPriority = 99

// Reply is the header's Type of a SEARCH. It tells a server whether to answer NOT_FOUND if the
// server does not have the channel.
type Reply uint16

// These are the values of Reply.
const (
	DontReply Reply = 5
	DoReply   Reply = 10
)

// Rights are the access rights to a channel: the second parameter of ACCESS_RIGHTS.
type Rights uint32

// These are the access rights.
const (
	RightRead  Rights = 1
	RightWrite Rights = 2
)

// Status is an ECA status code: a number shifted left by 3, plus a severity.
type Status uint32

// These are the status codes that servers send, as in caerr.h.
const (
	StatusNormal        Status = 0<<3 | 1
	StatusAllocMem      Status = 6<<3 | 0
	StatusTooLarge      Status = 9<<3 | 0
	StatusTimeout       Status = 10<<3 | 0
	StatusBadType       Status = 14<<3 | 2
	StatusInternal      Status = 17<<3 | 6
	StatusGetFail       Status = 19<<3 | 0
	StatusPutFail       Status = 20<<3 | 0
	StatusBadCount      Status = 22<<3 | 0
	StatusDisconn       Status = 24<<3 | 0
	StatusEventDisallow Status = 26<<3 | 2
	StatusBadMonitorID  Status = 30<<3 | 2
	StatusBadMask       Status = 41<<3 | 2
	StatusNoReadAccess  Status = 46<<3 | 0
	StatusNoWriteAccess Status = 47<<3 | 0
	StatusNoConvert     Status = 50<<3 | 0
	StatusBadChannelID  Status = 51<<3 | 2
	StatusUnavailable   Status = 54<<3 | 0
)

var statusNames = map[Status]string{
	StatusNormal: "ECA_NORMAL", StatusAllocMem: "ECA_ALLOCMEM", StatusTooLarge: "ECA_TOLARGE", StatusTimeout: "ECA_TIMEOUT",
	StatusBadType: "ECA_BADTYPE", StatusInternal: "ECA_INTERNAL", StatusGetFail: "ECA_GETFAIL", StatusPutFail: "ECA_PUTFAIL",
	StatusBadCount: "ECA_BADCOUNT", StatusDisconn: "ECA_DISCONN", StatusEventDisallow: "ECA_EVDISALLOW",
	StatusBadMonitorID: "ECA_BADMONID", StatusBadMask: "ECA_BADMASK", StatusNoReadAccess: "ECA_NORDACCESS",
	StatusNoWriteAccess: "ECA_NOWTACCESS", StatusNoConvert: "ECA_NOCONVERT", StatusBadChannelID: "ECA_BADCHID",
	StatusUnavailable: "ECA_UNAVAILINSERV",
}

// String returns the name of the status in caerr.h, or its number.
func (s Status) String() string {
	if n, ok := statusNames[s]; ok {
		return n
	}
	return fmt.Sprintf("ECA(%d)", uint32(s))
}

// OK reports whether the status means success: bit 0 of its severity is set.
func (s Status) OK() bool { return s&1 != 0 }
