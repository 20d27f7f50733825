package check

import "time"

// Severity ranks findings.
type Severity string

// Severities.
const (
	// Error means that data is lost, or that reads return wrong data or none.
	Error Severity = "error"
	// Warning means that data will be lost unless somebody acts.
	Warning Severity = "warning"
	// Info means that the finding is allowed, and good to know.
	Info Severity = "info"
)

// Kind is the kind of a finding.
type Kind string

// Kinds of findings.
const (
	// Unreadable means that the store repeatedly returns an error for rows.
	Unreadable Kind = "unreadable"
	// DamagedBlock means that the blob of a block does not decode.
	DamagedBlock Kind = "damaged_block"
	// WrongHeader means that the type, count, times or aggregates of a block differ from
	// those of its blob.
	WrongHeader Kind = "wrong_header"
	// WrongBucket means that a block holds samples from outside of its bucket.
	WrongBucket Kind = "wrong_bucket"
	// WrongOrder means that the samples of a block are not sorted, or that a sample is
	// repeated.
	WrongOrder Kind = "wrong_order"
	// WrongCarriedForward means that a carried-forward sample is not a copy of the last
	// sample before its bucket.
	WrongCarriedForward Kind = "wrong_carried_forward"
	// Unlisted means that the directory lacks what readers need to find blocks of a PV.
	Unlisted Kind = "unlisted"
	// WrongDirectory means that a directory entry has an impossible value.
	WrongDirectory Kind = "wrong_directory"
	// DamagedRow means that a journal row does not decode.
	DamagedRow Kind = "damaged_row"
	// MissingRow means that an unsealed journal row is missing.
	MissingRow Kind = "missing_row"
	// WrongClaim means that a claim contradicts itself or the rows of its writer.
	WrongClaim Kind = "wrong_claim"
	// Unsealed means that journal rows have waited so long for a sealer that they may
	// expire.
	Unsealed Kind = "unsealed"
	// WrongMark means that this program does not understand a mark.
	WrongMark Kind = "wrong_mark"
	// WrongMetadata means that this program does not understand metadata.
	WrongMetadata Kind = "wrong_metadata"
	// Overlap means that blocks of a PV overlap in time, for example after late samples
	// or a takeover.
	Overlap Kind = "overlap"
	// Expired means that expired rows still exist.
	Expired Kind = "expired"
)

// Severity returns the severity of findings of a kind.
func (k Kind) Severity() Severity {
	switch k {
	case Overlap, Expired:
		return Info
	case Unsealed:
		return Warning
	}
	return Error
}

// Finding is one problem, or one fact worth knowing.
type Finding struct {
	Kind Kind `json:"kind"`
	// Severity is the severity of the kind.
	Severity Severity `json:"severity"`
	// PV is empty if the finding is about a shard.
	PV string `json:"pv,omitempty"`
	// Where names the row: "day bucket 2026-01-31T00:00:00Z, block 3 of writer …".
	Where string `json:"where"`
	Text  string `json:"text"`
	// Repaired is set if the check repaired the problem.
	Repaired bool `json:"repaired,omitempty"`
}

// GivenUp describes raw samples that the disk guard deleted early to make room.
type GivenUp struct {
	Before time.Time `json:"before"` // samples older than this time are deleted
	At     time.Time `json:"at"`     // time of the deletion
	Size   int64     `json:"size"`   // size of the archive at that time, in bytes
	Limit  int64     `json:"limit"`  // allowed size at that time, in bytes
}

// Report is the result of a check.
type Report struct {
	// Complete is set if the check read the whole archive.
	Complete bool `json:"complete"`
	PVs      int  `json:"pvs"`
	Shards   int  `json:"shards"`
	Blocks   int  `json:"blocks"`
	// Samples counts the samples of blocks without carried-forward ones.
	Samples int `json:"samples"`
	// Bytes is about the number of bytes read.
	Bytes int64 `json:"bytes"`
	// Rows counts the unsealed journal rows that decode.
	Rows     int `json:"rows"`
	Marks    int `json:"marks"`
	Metadata int `json:"metadata"`
	// GivenUp is nil if the disk guard deleted nothing early.
	GivenUp *GivenUp `json:"givenUp,omitempty"`
	// Counts is the number of findings by kind.
	Counts map[Kind]int `json:"counts"`
	// Findings are the first findings of each kind, at most Options.Most.
	Findings []Finding `json:"findings"`
	Repaired int       `json:"repaired"`
}

// Problems counts the errors and warnings that were not repaired.
func (r *Report) Problems() int {
	n := -r.Repaired
	for kind, count := range r.Counts {
		if kind.Severity() != Info {
			n += count
		}
	}
	return n
}

// found adds a finding. It keeps at most most findings of a kind.
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

// add adds the report of a part of the archive.
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
