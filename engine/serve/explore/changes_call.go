package explore

import (
	"net/http"
	"strconv"

	"varve.dev/varve/engine/serve/openapi"
)

var changesCall = openapi.Call{
	Path: "/api/v1/changes", ID: "changes", Summary: "The PVs whose behaviour changed most in a window",
	Description: "The window is compared with the one of equal length before it. The six windows before that show what is normal for each PV. " +
		"A score of 1 means a change as large as the largest normal one; each further point means about twice as much.",
	Parameters: []openapi.Parameter{
		{Name: "pv", Description: "A pattern of names, with * and ?. The default is all PVs.", Example: "SR01-VA:*"},
		{Name: "group", Description: "The PVs that a group captures, instead of pv.", Example: "lab/vacuum"},
		openapi.From, openapi.To,
		{Name: "limit", Kind: openapi.Integer, Min: 1, Max: maxChanges, Default: strconv.Itoa(defaultChanges), Description: "The maximum number of PVs in the answer."},
	},
	Answers: openapi.Answers(openapi.Ref("Changes"), nil, http.StatusServiceUnavailable),
}

func changesSchema() openapi.Schema {
	return openapi.Object(members{
		"from": openapi.Timestamp("The start of the window."), "to": openapi.Timestamp("The end of the window."),
		"before": openapi.Timestamp("The start of the window before."), "since": openapi.Timestamp("The start of what shows what is normal."),
		"pvs": openapi.Whole("PVs that were to be compared."), "compared": openapi.Whole("PVs that were compared."),
		"tooLate?": openapi.Whole("PVs for which the time was too short."), "failed?": openapi.Whole("PVs that could not be read."),
		"error?": openapi.String("Why the first of them could not be read."), "seconds": openapi.Number("How long the comparison took."),
		"changed": openapi.Whole("PVs with a score."), "changes": openapi.List(openapi.Ref("Change")),
	})
}

func changeSchema() openapi.Schema {
	feature := openapi.Number("A value, samples per second, or a share of the time, by kind.")
	return openapi.Object(members{
		"pv": openapi.String(""), "score": openapi.Number("The largest score of its reasons."), "units?": openapi.String(""), "labels?": openapi.List(openapi.String("")),
		"description?": openapi.String("The property DESC."),
		"reasons": openapi.List(openapi.Object(members{
			"kind":  openapi.Enum("", "mean", "spread", "rate", "alarm", "state", "text", "gap", "type", "begun"),
			"score": openapi.Number(""), "before": feature, "after": feature, "normal": openapi.Number("The largest change between neighbouring earlier windows."),
			"state?": openapi.Whole("The state that gained most time."), "text?": openapi.String("A new text, or the cause of a gap."),
		})),
	})
}
