package overview

import (
	"net/http"

	"varve.dev/varve/engine/serve/openapi"
)

// call is a call with its handler.
type call struct {
	openapi.Call
	serve func(h *Handler, w http.ResponseWriter, r *http.Request, q *openapi.Query)
}

// Section describes the calls of this package.
func Section() openapi.Section {
	s := openapi.Section{Schemas: schemas()}
	for _, c := range calls() {
		c.Answers = append(c.Answers, openapi.Answer{Code: http.StatusForbidden, Description: "The sender may not read every PV.", JSON: openapi.Ref("Error")})
		s.Calls = append(s.Calls, c.Call)
	}
	return s
}

func calls() []call {
	return []call{{
		Call: openapi.Call{
			Path: "/api/v1/archive", ID: "archive", Summary: "The state of the archive: engines, shards, storage, and what is wrong",
			Description: "What the process does not know is absent, and unknown says why. All clients get the same answer for some seconds.",
			Answers:     openapi.Answers(openapi.Ref("Archive"), nil),
		},
		serve: (*Handler).archive,
	}, {
		Call: openapi.Call{
			Path: "/api/v1/losses", ID: "losses", Summary: "What was lost in a range, by cause",
			Description: "Sums up the marks of samples that were lost. If reading them takes too long, complete is false, and the losses are the least that there are.",
			Parameters: []openapi.Parameter{
				openapi.From, openapi.To, {Name: "group", Description: "Only PVs that this group captures.", Example: "lab/vacuum"},
			},
			Answers: openapi.Answers(openapi.Ref("Losses"), nil, http.StatusServiceUnavailable),
		},
		serve: (*Handler).losses,
	}, {
		Call: openapi.Call{
			Path: "/api/v1/forecast", ID: "forecast", Summary: "How large the archive and its groups become, by tier",
			Description: "Measures the latest blocks and rollups of some PVs of each group, and predicts what is kept in 30, 365 and 3650 days " +
				"if all PVs continue so. Sizes are those of the compressed samples and rollups in all replicas. All clients get the same answer for a minute or longer.",
			Parameters: []openapi.Parameter{{Name: "days", Kind: openapi.Integer, Min: 1, Max: maxDays, Description: "Also predict this number of days.", Example: "730"}},
			Answers:    openapi.Answers(openapi.Ref("Forecast"), nil),
		},
		serve: (*Handler).forecast,
	}, {
		Call: openapi.Call{
			Path: "/api/v1/groups", ID: "groups", Summary: "All groups: settings as applied, channels by state, problems",
			Answers: openapi.Answers(openapi.Ref("Groups"), nil),
		},
		serve: (*Handler).groups,
	}, {
		Call: openapi.Call{
			Path: "/api/v1/groups/{group...}", ID: "group", Summary: "One group, with its manifest and all problems",
			Parameters: []openapi.Parameter{{Name: "group", InPath: true, Description: "NAMESPACE/NAME, or a name that is unique.", Example: "lab/vacuum"}},
			Answers:    append(openapi.Answers(openapi.Ref("Group"), nil), openapi.Answer{Code: http.StatusNotFound, Description: "The archive does not know the group.", JSON: openapi.Ref("Error")}),
		},
		serve: (*Handler).group,
	}, {
		Call: openapi.Call{
			Method: http.MethodPost, Path: "/api/v1/groups/check", ID: "checkGroup", Summary: "What is wrong with the manifest of a group",
			Description: "Checks an ArchiveGroup by the rules of the cluster, and changes nothing.",
			Body:        "An ArchiveGroup in YAML or JSON, at most 1 MiB.",
			Answers: append(openapi.Answers(openapi.Ref("Checked"), nil, http.StatusRequestEntityTooLarge, http.StatusServiceUnavailable),
				openapi.Answer{Code: http.StatusNotFound, Description: "This process cannot check manifests.", JSON: openapi.Ref("Error")}),
		},
		serve: (*Handler).check,
	}}
}
