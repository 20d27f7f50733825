package why

import (
	"fmt"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/serve/absence"
)

// storeUnasked applies if the store does not say what was at an earlier time.
func storeUnasked(f *Facts) *cause {
	switch {
	case f.StoreMissing != "":
		return &cause{kind: absence.Unknown, step: InStore, text: "what the archive has is not known: " + f.StoreMissing, advice: "Ask again when the store answers."}
	case f.ReadMissing != "":
		return &cause{kind: absence.Unknown, step: Read, text: "reading the samples fails: " + f.ReadMissing, advice: "Ask again later."}
	}
	return nil
}

// deleted applies if a user has deleted the samples of the time.
func deleted(f *Facts) *cause {
	if !f.IsDeleted {
		return nil
	}
	d := f.Deleted
	c := &cause{
		kind: Deleted, step: Kept, since: d.From, text: "the samples from " + clock(d.From) + " to " + clock(d.To) + " were deleted on request",
		advice: "Deleted samples cannot be restored, except from a backup.",
	}
	if f.Deletion != "" {
		c.text += ": " + f.Deletion
	}
	return c
}

// givenUp applies if the disk guard has deleted the samples of the time.
func givenUp(f *Facts) *cause {
	if f.Cutoff == 0 || f.At >= f.Cutoff || f.First == 0 || f.At < f.First || f.Last != 0 {
		return nil
	}
	return &cause{
		kind: DiskGuard, step: Kept, text: "the disk guard deleted raw samples from before " + clock(f.Cutoff) + " to free disk space",
		advice: "Read rollups for that time, if the group has them. Shorten retentions, or add disk space.",
	}
}

// expired applies if the samples of the time have expired.
func expired(f *Facts) *cause {
	if f.Expired == 0 || f.At >= f.Expired || f.First == 0 || f.At < f.First {
		return nil
	}
	text := "raw samples from before " + clock(f.Expired) + " have expired"
	if f.Captured {
		text += fmt.Sprintf(" (the group keeps raw samples for %v now)", f.Status.Retention.Raw)
	}
	advice := "Nothing of that time is left. Set a longer retention.raw for later samples."
	if levels := f.levels(); levels != "" {
		advice = "Read rollups, which are kept for longer: " + levels + "."
	}
	return &cause{kind: Expired, step: Kept, text: text, advice: advice}
}

// notYet applies if the PV had no sample yet, and no mark either.
func notYet(f *Facts) *cause {
	if f.Last != 0 || f.Marked {
		return nil
	}
	text := "the archive has no sample and no mark of the PV until " + clock(f.At) + ": it was not captured yet"
	if f.First != 0 && f.First > f.At {
		text += "; its first samples are from after " + clock(f.First)
	}
	return &cause{kind: NotYet, step: InGroup, text: text, advice: "Import the samples of an older archive, if there is one (varve import data)."}
}

// marked applies if a mark says that no updates arrived at the time.
func marked(f *Facts) *cause {
	in := absence.Input{Until: f.At, Now: f.Now, Empty: f.Last == 0, Last: f.Last, Marked: f.Marked, Mark: f.Mark}
	a, has := absence.Explain(&in)
	if !has {
		if f.Last == 0 { // connected, and nothing is stored
			return &cause{kind: absence.Unknown, step: Received, since: f.Mark.Time, text: "the PV was connected, and the archive has no sample of it until " + clock(f.At) + "; the archive does not know why"}
		}
		return nil
	}
	c := &cause{kind: a.Kind, since: a.Since, text: a.Text}
	c.step, c.advice = f.adviceOf(a.Kind, a.Text)
	switch f.Mark.Kind {
	case sample.Removed, sample.Stopped, sample.Died, sample.Resumed:
		c.step, c.advice = InGroup, ""
	}
	return c
}

// lost applies if samples of the time were lost while the PV was connected.
func lost(f *Facts) *cause {
	if !f.IsLost {
		return nil
	}
	text := "samples of the time were lost: "
	if f.Loss.Count > 0 {
		text = count(f.Loss.Count, "sample") + " of the time were lost: "
	}
	text += f.Loss.Reason.String()
	if f.Loss.Text != "" {
		text += ", " + f.Loss.Text
	}
	return &cause{kind: sample.Lost.String(), step: Filtered, since: f.Loss.Time, text: text, advice: "The page of the PV and /api/v1/gaps show all losses with their causes."}
}
