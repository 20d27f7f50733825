package check

import "time"

// Severity ranks findings.
type Severity string

// Severities.
const (
	// Error: data is lost, or reads show something wrong or nothing.
	Error Severity = "error"
	// Warning: data will be lost unless somebody acts.
	Warning Severity = "warning"
	// Info: allowed, and worth to know.
	Info Severity = "info"
)

// Kind says what is wrong.
type Kind string

// Kinds of findings.
const (
	// Unreadable: the store gives an error, again and again, where rows are.
	Unreadable Kind = "unreadable"
	// CorruptBlock: the blob of a block does not decode.
	CorruptBlock Kind = "corrupt_block"
	// WrongHeader: a block's type, count, times or aggregates are not those of its blob.
	WrongHeader Kind = "wrong_header"
	// WrongBucket: a block holds samples from outside of its bucket.
	WrongBucket Kind = "wrong_bucket"
	// WrongOrder: the samples of a block are not sorted, or one stands there twice.
	WrongOrder Kind = "wrong_order"
	// WrongCarriedForward: a carried-forward sample is not the last one before its bucket.
	WrongCarriedForward Kind = "wrong_carried_forward"
	// Unlisted: the directory does not say of a PV what readers must know.
	Unlisted Kind = "unlisted"
	// WrongDirectory: an entry of the directory has something that can not be.
	WrongDirectory Kind = "wrong_directory"
	// CorruptRow: a journal row does not decode.
	CorruptRow Kind = "corrupt_row"
	// MissingRow: a journal row that is not sealed is not there.
	MissingRow Kind = "missing_row"
	// WrongClaim: a claim contradicts itself, or the rows of its writer.
	WrongClaim Kind = "wrong_claim"
	// Unsealed: journal rows wait for a sealer for so long that they may expire.
	Unsealed Kind = "unsealed"
	// WrongMark and WrongMetadata: one that this program does not understand.
	WrongMark     Kind = "wrong_mark"
	WrongMetadata Kind = "wrong_metadata"
	// Overlap: blocks of a PV overlap in time, as after late samples or a takeover.
	Overlap Kind = "overlap"
	// Expired: rows are still there that may go.
	Expired Kind = "expired"
)

// Severity returns how bad findings of a kind are.
func (k Kind) Severity() Severity {
	switch k {
	case Overlap, Expired:
		return Info
	case Unsealed:
		return Warning
	}
	return Error
}

// Finding is one thing found.
type Finding struct {
	Kind Kind `json:"kind"`
	// Severity is that of the kind.
	Severity Severity `json:"severity"`
	// PV is empty if it is about a shard.
	PV string `json:"pv,omitempty"`
	// Where names the row: "day bucket 2026-01-31T00:00:00Z, block 3 of writer …".
	Where string `json:"where"`
	Text  string `json:"text"`
	// Repaired says that it was put right.
	Repaired bool `json:"repaired,omitempty"`
}

// GivenUp says that raw samples were given up for want of room: those before a time, when,
// and how many bytes the archive took, and might take, then.
type GivenUp struct {
	Before time.Time `json:"before"`
	At     time.Time `json:"at"`
	Size   int64     `json:"size"`
	Limit  int64     `json:"limit"`
}

// Report is what a check has seen.
type Report struct {
	// Complete says that the check came to its end.
	Complete bool `json:"complete"`
	PVs      int  `json:"pvs"`
	Shards   int  `json:"shards"`
	Blocks   int  `json:"blocks"`
	// Samples of blocks; carried-forward ones are not counted.
	Samples int `json:"samples"`
	// Bytes that were read, about.
	Bytes int64 `json:"bytes"`
	// Rows of the journal that are not sealed, and decode.
	Rows     int `json:"rows"`
	Marks    int `json:"marks"`
	Metadata int `json:"metadata"`
	// GivenUp is nil if nothing was.
	GivenUp *GivenUp `json:"givenUp,omitempty"`
	// Counts of findings, by kind.
	Counts map[Kind]int `json:"counts"`
	// Findings are the first of each kind, as many as the options say.
	Findings []Finding `json:"findings"`
	Repaired int       `json:"repaired"`
}

// Problems counts the findings that are errors or warnings, and were not repaired.
func (r *Report) Problems() int {
	n := -r.Repaired
	for kind, count := range r.Counts {
		if kind.Severity() != Info {
			n += count
		}
	}
	return n
}

// found adds a finding, keeping no more than most of its kind.
func (r *Report) found(f Finding, most int) {
	if r.Counts == nil {
		r.Counts = map[Kind]int{}
	}
	f.Severity = f.Kind.Severity()
	if r.Counts[f.Kind]++; r.Counts[f.Kind] <= most {
		r.Findings = append(r.Findings, f)
	}
	if f.Repaired {
		r.Repaired++
	}
}

// add adds what was seen of a part of the archive.
func (r *Report) add(o *Report, most int) {
	r.PVs += o.PVs
	r.Shards += o.Shards
	r.Blocks += o.Blocks
	r.Samples += o.Samples
	r.Bytes += o.Bytes
	r.Rows += o.Rows
	r.Marks += o.Marks
	r.Metadata += o.Metadata
	r.Repaired += o.Repaired
	if r.Counts == nil {
		r.Counts = map[Kind]int{}
	}
	kept := map[Kind]int{}
	for _, f := range o.Findings {
		if r.Counts[f.Kind]+kept[f.Kind] < most {
			r.Findings = append(r.Findings, f)
		}
		kept[f.Kind]++
	}
	for kind, n := range o.Counts {
		r.Counts[kind] += n
	}
}
