package groupstatus

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/groups/compile"
)

// state is the status, reason and message of a condition.
type state struct {
	status          metav1.ConditionStatus
	reason, message string
}

// conditions are the conditions of a group, in the order of the status. If a rule returns false,
// the status does not have its condition.
var conditions = []struct {
	kind string
	rule func(Input) (state, bool)
}{
	{v1alpha1.ConditionReady, ready},
	{v1alpha1.ConditionReconciling, reconciling},
	{v1alpha1.ConditionStalled, stalled},
	{v1alpha1.ConditionDegraded, degraded},
	{v1alpha1.ConditionConflicted, conflicted},
	{v1alpha1.ConditionExpired, expired},
	{v1alpha1.ConditionQuestionable, questionable},
	{v1alpha1.ConditionRetentionApplied, retentionApplied},
}

// setConditions updates the conditions of a status.
func setConditions(of *[]metav1.Condition, in Input) {
	*of = slices.DeleteFunc(*of, func(c metav1.Condition) bool { return !known(c.Type) || c.Reason == v1alpha1.ReasonPending })
	for _, c := range conditions {
		s, there := c.rule(in)
		if !there {
			meta.RemoveStatusCondition(of, c.kind)
			continue
		}
		meta.SetStatusCondition(of, metav1.Condition{
			Type: c.kind, Status: s.status, Reason: s.reason, Message: s.message,
			ObservedGeneration: observed(in), LastTransitionTime: metav1.NewTime(in.Now),
		})
	}
}

// known reports whether this release has a condition of a type. Earlier releases had others.
func known(kind string) bool {
	for _, c := range conditions {
		if c.kind == kind {
			return true
		}
	}
	return false
}

func isTrue(reason, message string) (state, bool) {
	return state{metav1.ConditionTrue, reason, message}, true
}

func isFalse(reason, message string) (state, bool) {
	return state{metav1.ConditionFalse, reason, message}, true
}

func isUnknown(reason, message string) (state, bool) {
	return state{metav1.ConditionUnknown, reason, message}, true
}

// unknown returns why the operator knows nothing about the group yet.
func unknown(in Input) (reason, message string, is bool) {
	switch {
	case !in.ArchiverFound:
		return v1alpha1.ReasonArchiverNotFound, fmt.Sprintf("there is no Archiver %q in this namespace", in.Group.Spec.ArchiverRef.Name), true
	case in.Compiled == nil:
		return v1alpha1.ReasonCompiling, "the operator has not processed the group yet", true
	}
	return "", "", false
}

func ready(in Input) (state, bool) {
	if reason, message, is := unknown(in); is {
		return isFalse(reason, message)
	}
	c := in.Compiled
	switch {
	case !in.Group.DeletionTimestamp.IsZero():
		return isFalse(deletion(in))
	case c.Expired:
		return isTrue(v1alpha1.ReasonExpired, "the group has expired: its PVs are no longer captured, as spec.expiresAt says, and its data stays")
	case c.Channels == 0:
		return isFalse(v1alpha1.ReasonNoChannels, "the group has no channel that can be captured")
	case in.Outdated > 0:
		return isFalse(pending(in))
	case c.Paused == c.Channels:
		return isTrue(v1alpha1.ReasonPaused, "all channels of the group are paused")
	}
	message := "engines capture all channels of the group"
	if c.Redundant > 0 {
		message += fmt.Sprintf("; %d of them have redundancy 2: see the condition Redundant of the Archiver", c.Redundant)
	}
	return isTrue(v1alpha1.ReasonCaptured, message)
}

func reconciling(in Input) (state, bool) {
	reason, message, is := unknown(in)
	switch {
	case is && reason == v1alpha1.ReasonCompiling:
		return isTrue(reason, message)
	case is:
		return isFalse(reason, message)
	case !in.Group.DeletionTimestamp.IsZero():
		return isTrue(deletion(in))
	case in.CompiledGeneration != in.Group.Generation:
		return isTrue(v1alpha1.ReasonCompiling, "a change of the group is being compiled")
	case in.Outdated > 0:
		return isTrue(pending(in))
	}
	return isFalse(v1alpha1.ReasonCaptured, "engines are up to date with the group")
}

// stalled is true if somebody must change the group, its sources or its policies before all channels are
// archived as specified.
func stalled(in Input) (state, bool) {
	if reason, message, is := unknown(in); is {
		return isFalse(reason, message)
	}
	c := in.Compiled
	switch {
	case !in.Group.DeletionTimestamp.IsZero(), c.Expired, in.CompiledGeneration != in.Group.Generation:
		return isFalse(v1alpha1.ReasonNotStalled, "")
	case c.Channels == 0:
		return isTrue(v1alpha1.ReasonNoChannels, "the group has no channel that can be captured")
	}
	if s, _ := degraded(in); s.status == metav1.ConditionTrue {
		return s, true
	}
	return isFalse(v1alpha1.ReasonNotStalled, "")
}

// deletion returns why the group is still being deleted.
func deletion(in Input) (reason, message string) {
	if n := in.Compiled.Deleting; n > 0 {
		message = "the data of " + count(n, "PV") + " is being deleted"
		if kept := in.Compiled.Kept; kept > 0 {
			message += "; the data of " + count(kept, "PV") + " stays, because no ArchivePolicy lets the group own them"
		}
		return v1alpha1.ReasonDeletingData, message
	}
	return v1alpha1.ReasonDeleting, "the group is being deleted"
}

// pending returns why engines are not up to date with the group.
func pending(in Input) (reason, message string) {
	of := len(in.Compiled.ByShard)
	if in.Unplaced > 0 {
		return v1alpha1.ReasonNoEngine, fmt.Sprintf("%d of the group's %s are not up to date: the Archiver has no engine for %s",
			in.Outdated, count(of, "shard"), count(in.Unplaced, "shard"))
	}
	return v1alpha1.ReasonRollingOut, fmt.Sprintf("%d of the group's %s are being assigned to engines", in.Outdated, count(of, "shard"))
}

func degraded(in Input) (state, bool) {
	if reason, message, is := unknown(in); is {
		return isUnknown(reason, message)
	}
	texts := in.deletionProblems()
	total := len(texts) + len(in.Compiled.Problems) + in.Compiled.MoreProblems
	if total == 0 {
		return isFalse(v1alpha1.ReasonNoProblems, "")
	}
	for _, p := range in.Compiled.Problems {
		text := p.Message
		if p.PV != "" {
			text = p.PV + ": " + text
		}
		texts = append(texts, text)
	}
	reason := v1alpha1.ReasonProblems
	if in.Compiled.NotOwned > 0 {
		reason = v1alpha1.ReasonNotOwned
	}
	return isTrue(reason, summarize(texts, total, "problem", ": "))
}

func conflicted(in Input) (state, bool) {
	if reason, message, is := unknown(in); is {
		return isUnknown(reason, message)
	}
	total := len(in.Compiled.Conflicts) + in.Compiled.MoreConflicts
	if total == 0 {
		return isFalse(v1alpha1.ReasonNoSharedChannels, "")
	}
	var texts []string
	reason := v1alpha1.ReasonSharedChannels
	intro := " also in other groups; the settings that keep more data apply, and one of the groups counts each PV: "
	if n := in.Compiled.DifferentProviders; n > 0 {
		reason = v1alpha1.ReasonDifferentProviders
		intro = fmt.Sprintf(" also in other groups, %d of them with another provider; the provider of the oldest group is used: ", n)
	}
	for _, c := range in.Compiled.Conflicts {
		text := c.PV + " (" + strings.Join(c.Groups, ", ")
		if c.DifferentProviders {
			text += "; captured by " + strings.ToUpper(c.Provider.String())
		}
		texts = append(texts, text+")")
	}
	return isTrue(reason, summarize(texts, total, "PV", intro))
}

func expired(in Input) (state, bool) {
	at := in.Group.Spec.ExpiresAt
	switch {
	case at == nil:
		return isFalse(v1alpha1.ReasonNotExpired, "expiresAt is not set")
	case at.After(in.Now):
		return isFalse(v1alpha1.ReasonNotExpired, "expiresAt is in the future")
	}
	return isTrue(v1alpha1.ReasonExpired, "expiresAt has passed")
}

// questionable warns about what is valid but probably not meant.
func questionable(in Input) (state, bool) {
	if in.Compiled == nil {
		return state{}, false
	}
	if len(in.Compiled.Patterns) == 0 {
		return unusedRules(in.Compiled)
	}
	total := len(in.Compiled.Patterns) + in.Compiled.MorePatterns
	names := make([]string, len(in.Compiled.Patterns))
	for i, name := range in.Compiled.Patterns {
		names[i] = strconv.Quote(name)
	}
	return isTrue(v1alpha1.ReasonNamesLookLikePatterns, summarize(names, total, "channel name", " with * or ?: ")+
		". A name is not a pattern: a PV of exactly this name is searched for. List the PVs, or take them from ChannelFinder with spec.channelsFrom")
}

// unusedRules warns about rules that apply to no PV.
func unusedRules(c *compile.Group) (state, bool) {
	var texts []string
	for _, i := range c.UnusedRules() {
		texts = append(texts, fmt.Sprintf("spec.rules[%d]", i))
	}
	if len(texts) == 0 {
		return state{}, false
	}
	return isTrue(v1alpha1.ReasonUnusedRules, summarize(texts, len(texts), "rule", " without a PV: ")+
		". No name matches, or earlier rules match all of them. Run varve plan to see which rule applies to which PV")
}

func retentionApplied(in Input) (state, bool) {
	if in.Compiled == nil || !in.Compiled.Retention {
		return state{}, false
	}
	if in.Outdated > 0 {
		return isFalse(pending(in))
	}
	text := compile.Describe(&in.Group.Spec)
	if n := in.Compiled.KeptLonger; n > 0 {
		text += "; data of " + count(n, "PV") + " is kept longer because of other groups"
	}
	return isTrue(v1alpha1.ReasonApplied, text)
}

// summarize returns the number of texts and the first few of them.
func summarize(texts []string, total int, noun, intro string) string {
	const most, longest = 3, 400
	var b strings.Builder
	b.WriteString(count(total, noun) + intro)
	for i, text := range texts[:min(most, len(texts))] {
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(cut(text, longest))
	}
	if more := total - min(most, len(texts)); more > 0 {
		fmt.Fprintf(&b, "; and %d more", more)
	}
	return b.String()
}

// count returns a number with its noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// cut shortens a text to a number of bytes, followed by an ellipsis.
func cut(text string, longest int) string {
	if len(text) <= longest {
		return text
	}
	return strings.ToValidUTF8(text[:longest], "") + "…"
}
