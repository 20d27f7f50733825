package native

import "varve.dev/varve/engine/serve/openapi"

type members = map[string]openapi.Schema

// schemas returns the schemas of answers by name.
func schemas() map[string]openapi.Schema {
	all := sampleSchemas()
	for name, s := range channelSchemas() {
		all[name] = s
	}
	return all
}

// sampleSchemas returns the schemas of answers about samples.
func sampleSchemas() map[string]openapi.Schema {
	value := openapi.Any("A number, text, list or object. NaN and infinities are the texts NaN, Infinity and -Infinity. An enumeration is its number.")
	severity := openapi.Enum("The alarm severity.", "NO_ALARM", "MINOR", "MAJOR", "INVALID")
	until := openapi.Until("Samples that were received after this time are missing.")
	runs := openapi.List(openapi.Ref("Run"))
	marks := openapi.List(openapi.Ref("Mark"))
	seconds := openapi.Object(members{"true": openapi.Number(""), "false": openapi.Number(""), "unknown": openapi.Number("")})
	limits := openapi.Map("The limits that the PV has: displayLow, displayHigh, warnLow, warnHigh, alarmLow, alarmHigh, controlLow, controlHigh.", openapi.Number(""))
	labels := openapi.List(openapi.String(""))
	properties := openapi.Map("Fields of the record.", openapi.String(""))
	return map[string]openapi.Schema{
		"NoData": openapi.Object(members{
			"cause": openapi.String("Why the PV has no data."), "since?": openapi.Timestamp(""), "text?": openapi.String(""),
		}),
		"Metadata": openapi.Object(members{"units?": openapi.String(""), "precision": openapi.Whole(""), "limits?": limits, "labels?": labels, "properties?": properties}),
		"Sample":   openapi.Object(members{"time": openapi.Timestamp(""), "value": value, "severity": severity, "status": openapi.String("The alarm status."), "engineClock?": openapi.Schema{"type": "boolean", "description": "True if the time comes from the clock of the engine, and not from the IOC."}}),
		"Run":      openapi.Object(members{"type": openapi.String("The type of the values."), "samples": openapi.List(openapi.Ref("Sample"))}),
		"Mark": openapi.Object(members{
			"time": openapi.Timestamp(""), "end?": openapi.Timestamp(""), "kind": openapi.String(""), "reason?": openapi.String(""), "count?": openapi.Whole(""), "text?": openapi.String(""),
		}),
		"Point": openapi.Object(members{
			"time": openapi.Timestamp(""), "count": openapi.Whole("The number of samples."), "severity": severity, "width?": openapi.Number("In seconds, if it differs from that of the others."),
			"covered": openapi.Number("The fraction of the time in which a value was held."), "min?": value, "max?": value, "mean?": value, "std?": value, "first?": value, "last?": value,
			"states?": openapi.Map("Seconds in each state.", openapi.Number("")),
		}),
		"Samples": openapi.Object(members{
			"pv": openapi.String(""), "metadata?": openapi.Ref("Metadata"), "completeUntil?": until, "runs": runs, "marks": marks, "noData?": openapi.Ref("NoData"),
		}),
		"Points": openapi.Object(members{
			"pv": openapi.String(""), "metadata?": openapi.Ref("Metadata"), "completeUntil?": until, "width": openapi.Number("The width of the bins in seconds."),
			"points": openapi.List(openapi.Ref("Point")), "marks": marks, "noData?": openapi.Ref("NoData"),
		}),
		"Filtered": openapi.Object(members{
			"pv": openapi.String(""), "metadata?": openapi.Ref("Metadata"), "completeUntil?": until, "where": openapi.String(""), "runs": runs, "seconds": seconds,
		}),
		"Table": openapi.Object(members{
			"notes": openapi.Map("Facts about the table.", openapi.String("")), "after?": openapi.Map("Facts that became known after the first row.", openapi.String("")),
			"columns": openapi.List(openapi.Object(members{"name": openapi.String(""), "type": openapi.String(""), "unit?": openapi.String(""), "labels?": labels})),
			"rows":    openapi.List(openapi.List(value)),
		}),
		"Intervals": openapi.Object(members{
			"where": openapi.String(""), "completeUntil?": until, "seconds": seconds,
			"intervals": openapi.List(openapi.Object(members{"from": openapi.Timestamp(""), "to": openapi.Timestamp(""), "state": openapi.Enum("", "true", "unknown")})),
		}),
		"Snapshot": openapi.Object(members{"at": openapi.Timestamp(""), "pvs": openapi.List(openapi.Object(members{
			"pv": openapi.String(""), "type?": openapi.String(""), "time?": openapi.Timestamp(""), "value?": value, "label?": openapi.String("The state of an enumeration."),
			"severity?": severity, "status?": openapi.String(""), "metadata?": openapi.Ref("Metadata"), "lost?": openapi.Whole("Samples in damaged blocks."), "noData?": openapi.Ref("NoData"),
		}))}),
		"Marks": openapi.Object(members{"pv": openapi.String(""), "marks": marks, "noData?": openapi.Ref("NoData")}),
		"History": openapi.Object(members{
			"pv": openapi.String(""), "missing?": openapi.List(openapi.Ref("MissingProperty")),
			"history": openapi.List(openapi.Object(members{
				"since": openapi.Timestamp(""), "type?": openapi.String(""), "count?": openapi.Whole(""), "host?": openapi.String(""),
				"units?": openapi.String(""), "precision": openapi.Whole(""), "limits?": limits, "labels?": labels, "properties?": properties,
			})),
		}),
		"MissingProperty": openapi.Object(members{"name": openapi.String(""), "cause": openapi.String("Why the property has no value.")}),
	}
}

// channelSchemas returns the schemas of answers about channels and the archive.
func channelSchemas() map[string]openapi.Schema {
	count := openapi.Whole("")
	dropped := openapi.Map("Samples that were dropped, by reason.", count)
	incomplete := openapi.String("Why entries are missing.")
	summary := members{
		"channels": count, "states": openapi.Map("Channels by state.", count), "rate": openapi.Number("Samples per second."),
		"received": count, "stored": count, "pending": count, "dropped?": dropped, "group?": openapi.String(""),
	}
	return map[string]openapi.Schema{
		"Names": openapi.Object(members{
			"names": openapi.List(openapi.String("")), "next?": openapi.String("The value of after for the next page."),
			"descriptions?": openapi.Map("The descriptions of the names, if the request has the parameter description.", openapi.String("")), "incomplete?": openapi.String("Why PVs are missing."),
		}),
		"Channel": openapi.Object(members{
			"pv": openapi.String(""), "aliasOf?": openapi.String("The PV, if the name that was asked for is an alias."), "formerly?": formerlySchema(), "aliases?": aliasesSchema(),
			"group": openapi.String(""), "provider": openapi.String(""), "state": openapi.Enum("", states()...), "since?": openapi.Timestamp(""), "cause?": openapi.String(""),
			"host?": openapi.String(""), "engine?": openapi.String("The engine that captures the PV, if a retrieval pod answers."), "type?": openapi.String(""), "count?": openapi.Whole("The number of elements."), "sampling": openapi.String(""),
			"retention": openapi.Object(members{
				"raw": openapi.String(""), "rollups?": openapi.List(openapi.Object(members{"every": openapi.String(""), "keep": openapi.String("")})),
			}),
			"rate": openapi.Number("Samples per second."), "connects": count, "lostConnections": count, "received": count, "stored": count, "pending": count,
			"dropped?": dropped, "suspected?": openapi.Whole("How many times the IOC may have dropped updates without notice."),
			"last?":     openapi.Object(members{"time": openapi.Timestamp(""), "value?": openapi.Any(""), "severity": openapi.String(""), "status": openapi.String("")}),
			"metadata?": openapi.Ref("Metadata"), "enabledBy?": openapi.String("Whether another PV enables the capture now."), "missing?": openapi.List(openapi.Ref("MissingProperty")), "noData?": openapi.Ref("NoData"), "givenUp?": openapi.Ref("GivenUp"),
		}),
		"Channels": openapi.Object(members{"channels": openapi.List(openapi.Ref("Channel")), "next?": openapi.String("The value of after for the next page."), "incomplete?": incomplete}),
		"PVs":      pvsSchema(), "PVRow": rowSchema(), "Why": whySchema(),
		"NotCaptured": openapi.Object(members{"error": openapi.String(""), "noData": openapi.Ref("NoData")}),
		"GivenUp": openapi.Object(members{
			"before": openapi.Timestamp("Samples older than this are deleted."), "at": openapi.Timestamp(""), "size": openapi.Whole("In bytes."), "limit": openapi.Whole("In bytes."),
		}),
		"Status": openapi.Object(members{
			"total": openapi.Ref("Summary"), "groups": openapi.List(openapi.Ref("Summary")), "incomplete?": incomplete, "givenUp?": openapi.Ref("GivenUp"),
			"warnings?": openapi.List(openapi.String("")),
		}),
		"Summary": openapi.Object(summary),
	}
}
