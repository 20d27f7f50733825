package explore

import (
	"net/http"
	"strconv"

	"varve.dev/varve/engine/serve/openapi"
)

// Section describes the calls of this package.
func Section() openapi.Section {
	return openapi.Section{Calls: []openapi.Call{binsCall, arraysCall, gapsCall, liveCall, changesCall, statisticsCall}, Schemas: schemas()}
}

var (
	binsCall = openapi.Call{
		Path: "/api/v1/bins", ID: "bins", Summary: "Columns for plots: few samples as they are, many as bins",
		Description: "The bins of all PVs are on one grid of times. Ranges of equal length have the same grid. The binary format is described in docs/reading.md.",
		Parameters: []openapi.Parameter{
			pvs, openapi.From, openapi.To,
			{Name: "points", Kind: openapi.Integer, Min: 1, Max: maxPoints, Default: strconv.Itoa(defaultPoints), Description: "The maximum number of bins, apart from parts of bins at the ends."},
			{Name: "samples", Kind: openapi.Integer, Min: 0, Max: maxSamples, Default: "0", Description: "A PV that has at most that many samples in the range is answered with its samples."},
			{Name: "format", Kind: openapi.Choice, Choices: []string{"json", "binary"}, Default: "json", Description: "The format of the answer."},
		},
		Answers: openapi.Answers(openapi.Ref("Plot"), []string{binaryType}, http.StatusNotFound, http.StatusServiceUnavailable),
	}
	arraysCall = openapi.Call{
		Path: "/api/v1/arrays", ID: "arrays", Summary: "Arrays of a PV over time, for a heat map",
		Description: "The range is divided into intervals of equal width, which begin at multiples of the width since 1970. The answer has the first array of each interval, " +
			"and the last array before the range. A cell is the maximum of neighbouring elements, and if there are several, their minimum too. NaN does not count. " +
			"If arrays are large, intervals are left out, and thinned is true. The binary format is described in docs/reading.md.",
		Parameters: []openapi.Parameter{
			{Name: "pv", Required: true, Description: "The name of the PV.", Example: "SR:PROFILE"}, openapi.From, openapi.To,
			{Name: "points", Kind: openapi.Integer, Min: 1, Max: maxColumns, Default: strconv.Itoa(defaultColumns), Description: "The maximum number of intervals, apart from parts of intervals at the ends."},
			{Name: "cells", Kind: openapi.Integer, Min: 1, Max: maxCells, Default: strconv.Itoa(defaultCells), Description: "The maximum number of cells of an array."},
			{Name: "format", Kind: openapi.Choice, Choices: []string{"json", "binary"}, Default: "json", Description: "The format of the answer."},
		},
		Answers: openapi.Answers(openapi.Ref("Arrays"), []string{binaryType}, http.StatusNotFound, http.StatusServiceUnavailable),
	}
	gapsCall = openapi.Call{
		Path: "/api/v1/gaps", ID: "gaps", Summary: "Times in a range without updates, and their causes",
		Parameters: []openapi.Parameter{
			pvs, openapi.From, openapi.To,
			{Name: "limit", Kind: openapi.Integer, Min: 1, Max: maxGaps, Default: strconv.Itoa(defaultGaps), Description: "The maximum number of gaps and losses of each PV."},
		},
		Answers: openapi.Answers(openapi.Ref("Gaps"), nil, http.StatusNotFound, http.StatusServiceUnavailable),
	}
	statisticsCall = openapi.Call{
		Path: "/api/v1/statistics", ID: "statistics", Summary: "Statistics of PVs in a range",
		Description: "Values count by the time for which the PV held them, beginning with the last one before the range. Times without updates do not count. " +
			"If a range has more than " + strconv.Itoa(exactSamples) + " samples, or if these have expired, the statistics come from bins within it, and samples at its ends. " +
			"Where samples have expired, the statistics use only bins that lie completely within the range. leftOut is the number of seconds that no such bin covers.",
		Parameters: []openapi.Parameter{pvs, openapi.From, openapi.To},
		Answers:    openapi.Answers(openapi.Ref("Statistics"), nil, http.StatusNotFound, http.StatusServiceUnavailable),
	}
	liveCall = openapi.Call{
		Path: "/api/v1/live", ID: "live", Summary: "New samples as Server-Sent Events",
		Description: "Each event is JSON, as described in docs/reading.md. A stream ends after a minute. The id of an event is a cursor: " +
			"a client that connects again sends the last one in the header Last-Event-ID, as browsers do, and misses no sample.",
		Parameters: []openapi.Parameter{
			pvs,
			{Name: "cursor", Description: "What the client has of each PV, in the order of the parameters pv: TIME:COUNT,…, with the time of the last sample in ns since 1970, and how many samples at that time it has. The default is now.", Example: "1767225600000000000:1"},
			{Name: "Last-Event-ID", InHeader: true, Description: "A cursor. It replaces the parameter cursor."},
		},
		Answers: openapi.Answers(nil, []string{"text/event-stream"}, http.StatusNotFound, http.StatusServiceUnavailable),
	}

	pvs = openapi.Parameter{
		Name: "pv", Repeated: maxPVs, Required: true, Description: "The name of a PV. Repeat the parameter for several PVs.", Example: "SR:I",
	}
)

type members = map[string]openapi.Schema

// schemas returns the schemas of answers by name.
func schemas() members {
	text, times := openapi.String(""), openapi.List(openapi.Timestamp(""))
	number := openapi.Either(openapi.Number(""), openapi.Enum("", "NaN", "Infinity", "-Infinity"))
	numbers := openapi.List(number)
	series := func(mode string, more members) openapi.Schema {
		all := members{
			"pv": text, "mode": openapi.Enum("", mode), "kind": openapi.Enum("", "number", "enum", "text", "other"), "type?": openapi.String("The type of the last sample."),
			"metadata?": openapi.Ref("PlotMetadata"), "completeUntil?": openapi.Until("Samples that were received after this time are missing."),
			"lost?": openapi.Whole("Samples in damaged blocks."), "time": times,
			"severity": openapi.List(openapi.Enum("", "NO_ALARM", "MINOR", "MAJOR", "INVALID")),
		}
		for name, s := range more {
			all[name] = s
		}
		return openapi.Object(all)
	}
	return members{
		"Changes": changesSchema(), "Change": changeSchema(),
		"Statistics": openapi.Object(members{"from": openapi.Timestamp(""), "to": openapi.Timestamp(""), "pvs": openapi.List(openapi.Ref("PVStatistics"))}),
		"PVStatistics": openapi.Object(members{
			"pv": text, "kind": openapi.Enum("", "number", "enum", "text", "other"), "source": openapi.Enum("What the statistics come from.", "samples", "bins"),
			"count": openapi.Whole("Samples in the range."), "min?": openapi.Number(""), "max?": openapi.Number(""),
			"mean?": openapi.Number("Weighted by time."), "std?": openapi.Number("The standard deviation, weighted by time."),
			"covered": openapi.Number("The share of the range, up to now, in which a value is known."),
			"leftOut?": openapi.Number("The seconds of the range, up to now, that no statistic counts: the samples of these times have expired, and the bins that " +
				"summarize them exceed the range. These times are no part of covered. Without it, the statistics count all of the range."),
			"alarm":          openapi.Map("The seconds with each severity. From bins they are upper bounds, because a bin counts with its highest severity.", openapi.Number("")),
			"completeUntil?": openapi.Until("Samples that were received after this time are missing."), "lost?": openapi.Whole("Samples in damaged blocks."),
			"gapsLeftOutFrom?": openapi.Timestamp("Times without updates count as known from this time on, because there are too many."),
		}),
		"Plot": openapi.Object(members{
			"from": openapi.Timestamp(""), "to": openapi.Timestamp(""), "now": openapi.Timestamp(""), "width": openapi.Number("The width of the bins in seconds."),
			"pvs": openapi.List(openapi.Either(openapi.Ref("PlotSamples"), openapi.Ref("PlotBins"))),
		}),
		"PlotSamples": series("samples", members{"value": openapi.List(openapi.Either(openapi.Number(""), text))}),
		"PlotBins": series("bins", members{
			"width": openapi.List(openapi.Number("In seconds.")), "min": numbers, "max": numbers, "mean": numbers, "last": numbers,
			"count": numbers, "covered": numbers, "text?": openapi.List(text),
		}),
		"Arrays": openapi.Object(members{
			"pv": text, "type?": openapi.String("The type of the last sample."), "metadata?": openapi.Ref("PlotMetadata"), "width": openapi.Number("The width of an interval in seconds."),
			"elements": openapi.Whole("The length of the longest array."), "group": openapi.Whole("How many elements a cell has."), "cells": openapi.Whole("How many cells the longest array has."),
			"thinned?": openapi.Schema{"type": "boolean", "description": "Intervals are left out, because their arrays take too long to read."}, "leftOutFrom?": openapi.Timestamp("No array from this time on was read, because the request took too long."),
			"completeUntil?": openapi.Until("Samples that were received after this time are missing."), "lost?": openapi.Whole("Samples in damaged blocks."),
			"time": times, "length": openapi.List(openapi.Whole("Elements of the array. A sample that is no array of numbers has none.")),
			"severity": openapi.List(openapi.Enum("", "NO_ALARM", "MINOR", "MAJOR", "INVALID")),
			"max":      openapi.List(numbers), "min?": openapi.List(numbers),
		}),
		"PlotMetadata": openapi.Object(members{
			"units?": text, "precision": openapi.Whole(""), "labels?": openapi.List(text), "limits?": openapi.Map("", openapi.Number("")), "description?": text,
		}),
		"Gaps": openapi.Object(members{"from": openapi.Timestamp(""), "to": openapi.Timestamp(""), "pvs": openapi.List(openapi.Object(members{
			"pv": text, "gaps": openapi.List(openapi.Ref("Gap")), "losses": openapi.List(openapi.Ref("Loss")),
			"leftOutFrom?": openapi.Timestamp("Gaps and losses from this time on are left out."),
		}))}),
		"Gap": openapi.Object(members{
			"from?": openapi.Timestamp(""), "to?": openapi.Timestamp(""), "kind": text, "more?": openapi.Whole("Causes that are left out."),
			"writer?": openapi.String("The writer that was connected after the gap."), "text?": openapi.String("Its server."),
			"causes?": openapi.List(openapi.Object(members{"time": openapi.Timestamp(""), "kind": text, "text?": text, "writer": text})),
		}),
		"Loss": openapi.Object(members{
			"from": openapi.Timestamp(""), "to?": openapi.Timestamp(""), "reason": text, "count?": openapi.Whole("Without it, the number is not known."), "text?": text, "writer": text,
		}),
	}
}
