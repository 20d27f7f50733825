package compile

import (
	"cmp"
	"slices"
	"strings"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/pvname"
)

// ProviderOf converts a provider of the API. It returns CA unless the word is PVA.
func ProviderOf(word v1alpha1.Provider) capture.Provider {
	if word == v1alpha1.PVAccess {
		return capture.PVA
	}
	return capture.CA
}

// Name returns the PV name prefixed with its provider, so that it does not depend on defaults.
func Name(ch *capture.Channel) string {
	if ch.Settings == nil {
		return ch.PV
	}
	return ch.Settings.Provider.String() + "://" + ch.PV
}

// providerOf returns the provider of a name. The prefix of the name decides, then the provider
// of the channel, of the group, and of the archive.
func providerOf(name string, ch *v1alpha1.Channel, group *v1alpha1.ArchiveGroupSpec, otherwise capture.Provider) capture.Provider {
	word := v1alpha1.Provider(strings.ToUpper(pvname.Scheme(name)))
	if ch != nil {
		word = cmp.Or(word, ch.Provider)
	}
	if word = cmp.Or(word, group.Provider); word == "" {
		return otherwise
	}
	return ProviderOf(word)
}

// fieldsOf returns the fields of a channel, or of its group if the channel has none.
func fieldsOf(group, channel []v1alpha1.FieldPath) string {
	if channel == nil {
		channel = group
	}
	return joined(channel)
}

// inMetadata are the properties that are part of the metadata of both protocols. They are
// always kept and need no separate subscription.
var inMetadata = strings.Fields(`EGU PREC HOPR LOPR HIHI HIGH LOW LOLO DRVH DRVL
	ZNAM ONAM ZRST ONST TWST THST FRST FVST SXST SVST EIST NIST TEST ELST TVST TTST FTST FFST`)

// propertiesOf returns the properties of a channel, or of its group if the channel has none.
// It omits properties that are part of the metadata.
func propertiesOf(group, channel []v1alpha1.Property) string {
	if channel == nil {
		channel = group
	}
	return joined(slices.DeleteFunc(slices.Clone(channel), func(p v1alpha1.Property) bool {
		return slices.Contains(inMetadata, string(p))
	}))
}

// joined returns names in the form of capture.Settings: sorted, without duplicates, separated by commas.
func joined[T ~string](names []T) string {
	var b strings.Builder
	for i, name := range slices.Compact(slices.Sorted(slices.Values(names))) {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(string(name))
	}
	return b.String()
}
