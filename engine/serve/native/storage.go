package native

import (
	"net/http"

	"varve.dev/varve/engine/pvname"
	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/serve/openapi"
	"varve.dev/varve/engine/store"
)

// pvStorage is what the store holds of a PV.
type pvStorage struct {
	PV    string       `json:"pv"`
	Parts []storedPart `json:"parts"`
	// Missing says why sizes are too small.
	Missing   string `json:"missing,omitempty"`
	Estimated bool   `json:"estimated,omitempty"`
}

// storedPart is the samples or the rollups of a tier.
type storedPart struct {
	Contents string `json:"contents"`
	Tier     string `json:"tier"`
	// Bytes is absent if the store does not know the size.
	Bytes *int64 `json:"bytes,omitempty"`
}

// storage answers what the store holds of a PV, by tier.
func (h *Handler) storage(w http.ResponseWriter, r *http.Request, q *openapi.Query) {
	pv := pvname.Canonical(q.Get("pv"))
	leave, err := h.Reads.Enter(r.Context())
	if err != nil {
		h.fail(w, r, err)
		return
	}
	defer leave()
	known, err := h.Reader.Known(r.Context(), pv)
	if err == nil && !known {
		err = query.ErrUnknownPV
	}
	var d store.PVDescription
	if err == nil {
		d, err = store.DescribePV(r.Context(), h.Reader.Store, pv, h.Now().UnixNano())
	}
	if err != nil {
		h.fail(w, r, err)
		return
	}
	out := pvStorage{PV: pv, Parts: []storedPart{}, Missing: d.Missing, Estimated: d.Estimated}
	for _, p := range d.Parts {
		part := storedPart{Contents: string(p.Contents), Tier: p.Tier.String()}
		if p.Bytes >= 0 {
			part.Bytes = &p.Bytes
		}
		out.Parts = append(out.Parts, part)
	}
	answer(w, http.StatusOK, out)
}

// storageCall describes the call.
func storageCall() call {
	return call{Call: openapi.Call{
		Path: "/api/v1/storage", ID: "storage", Summary: "Size of a PV in the store, by retention tier",
		Description: "Samples that were not written in blocks yet do not count. The sizes are those in all replicas.",
		Parameters:  []openapi.Parameter{{Name: "pv", Required: true, Description: "The name of the PV.", Example: "SR:I"}},
		Answers: openapi.Answers(openapi.Object(members{
			"pv": openapi.String(""),
			"parts": openapi.List(openapi.Object(members{
				"contents": openapi.Enum("", string(store.SampleContents), string(store.RollupContents)), "tier": openapi.String("How long they are kept."),
				"bytes?": openapi.Whole("Absent if the store does not know the size."),
			})),
			"missing?": openapi.String("Why sizes are too small."), "estimated?": openapi.Schema{"type": "boolean", "description": "The sizes are estimates."},
		}), nil, http.StatusNotFound, http.StatusServiceUnavailable),
	}, serve: (*Handler).storage}
}
