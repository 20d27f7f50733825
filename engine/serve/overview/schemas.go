package overview

import "varve.dev/varve/engine/serve/openapi"

type members = map[string]openapi.Schema

// schemas returns the schemas of the answers by name.
func schemas() map[string]openapi.Schema {
	all := groupSchemas()
	for name, s := range archiveSchemas() {
		all[name] = s
	}
	return all
}

var (
	text      = openapi.String("")
	count     = openapi.Whole("")
	bytes     = openapi.Whole("In bytes.")
	timestamp = openapi.Timestamp("")
	number    = openapi.Number("")
	unknown   = openapi.Map("Why members are absent or incomplete, by their names.", text)
)

// groupSchemas returns the schemas of answers about groups.
func groupSchemas() map[string]openapi.Schema {
	row := func(more members) openapi.Schema {
		m := members{
			"group": openapi.String("Namespace and name."), "settings?": openapi.Ref("GroupSettings"), "channels?": openapi.Ref("ChannelCounts"),
			"problems": openapi.List(openapi.Ref("Problem")), "moreProblems?": openapi.Whole("The number of problems that are left out."),
			"condition?": openapi.String("The message of the condition Ready."),
		}
		for name, s := range more {
			m[name] = s
		}
		return openapi.Object(m)
	}
	return map[string]openapi.Schema{
		"Problem": openapi.Object(members{
			"severity": openapi.Enum("", SeverityError, SeverityWarning, SeverityInfo), "pv?": text,
			"text": openapi.String("What is wrong."), "advice?": openapi.String("What to do."),
		}),
		"ChannelCounts": openapi.Object(members{
			"channels": count, "states": openapi.Map("Channels by state.", count), "silent": openapi.Whole("Connected channels without a value since."), "samplesPerSecond": number,
			"dropped?": openapi.Map("Samples that were lost since the engines started, by reason.", count),
			"worst?":   openapi.List(openapi.Object(members{"pv": text, "state": text, "since?": timestamp, "cause": text, "text?": text})),
		}),
		"GroupSettings": openapi.Object(members{
			"provider": text, "sampling": text, "retention": text, "redundancy": count, "properties?": openapi.List(text), "fields?": openapi.List(text), "shardBy": text,
			"paused?": openapi.Schema{"type": "boolean"}, "expiresAt?": timestamp, "onDelete": text, "listed": openapi.Whole("PVs that the group lists itself."),
			"own?": openapi.Whole("Listed PVs with settings of their own."), "sources?": openapi.List(text),
		}),
		"Checked": openapi.Object(members{
			"errors":   openapi.List(openapi.Object(members{"field?": openapi.String("The path of the field."), "line?": count, "error": openapi.String("What would be right.")})),
			"warnings": openapi.List(text), "manifest?": openapi.String("The manifest in YAML."),
			"group?": openapi.Object(members{"group": text, "settings": openapi.Ref("GroupSettings"), "problems": openapi.List(openapi.Ref("Problem")), "condition?": text}),
		}),
		"Groups": openapi.Object(members{"at": timestamp, "groups": openapi.List(row(nil)), "unknown": unknown}),
		"Group":  row(members{"at": timestamp, "manifest?": openapi.String("In YAML."), "spec?": openapi.Schema{"type": "object"}, "unknown": unknown}),
	}
}

// archiveSchemas returns the schemas of answers about the archive.
func archiveSchemas() map[string]openapi.Schema {
	boolean := openapi.Schema{"type": "boolean"}
	figures := openapi.Object(members{
		"shards": count, "sealing": openapi.Whole("Shards that it seals."), "channels": count, "connected": count, "samplesPerSecond": number, "bytesPerSecond": number,
		"load?":    openapi.Number("The rate of samples, divided by its mean over all engines."),
		"received": count, "stored": count, "pending": count, "dropped": count, "memoryBytes": count,
		"storage?": openapi.String("Why the store does not accept samples."),
		"unsealed?": openapi.Object(members{
			"oldestSeconds": openapi.Number("How long the oldest unsealed journal row has been in the store."),
			"keptSeconds":   openapi.Number("How long the store keeps such rows; 0: until they are sealed."), "late": openapi.Whole("Shards whose rows wait for too long."),
		}),
		"damaged?":   openapi.Object(members{"objects": openapi.Whole("Blocks and journal rows."), "first": text}),
		"clock":      openapi.Object(members{"state": openapi.Enum("", ClockRight, ClockWrong, ClockUnknown, ClockNotWrong), "offsetSeconds?": number, "because?": text}),
		"diskGuard?": openapi.Object(members{"reason": text, "sizeBytes": count, "limitBytes": count, "waitingBytes": count, "before?": timestamp, "text?": text}),
	})
	return map[string]openapi.Schema{
		"Archive": openapi.Object(members{
			"at": timestamp, "problems": openapi.List(openapi.Ref("Problem")), "channels": openapi.Ref("ChannelCounts"), "engines": openapi.List(openapi.Ref("Engine")),
			"shards?": openapi.Object(members{"shards": count, "captured": count, "list": openapi.List(openapi.Object(members{
				"shard": count, "channels": count,
				"engines": openapi.List(openapi.Object(members{"engine": text, "phase": text, "sealing?": boolean, "connected?": count})),
			}))}),
			"moves": openapi.List(openapi.Object(members{"shard": count, "from?": text, "to?": text, "phase": text, "since?": timestamp, "message?": text})),
			"storage?": openapi.Object(members{
				"kind": text, "where": text, "disk?": openapi.Object(members{"sizeBytes": count, "freeBytes": count}), "replicas?": count, "bytes": bytes,
				"nodes?":     openapi.List(openapi.Object(members{"address": text, "up": boolean, "bytes?": count})),
				"parts":      openapi.List(openapi.Object(members{"contents": openapi.Enum("", "samples", "rollups", "journal", "other"), "tier?": text, "bytes": count})),
				"estimated?": boolean, "missing?": text,
			}),
			"forecast?": openapi.Object(members{
				"tiers": openapi.List(openapi.Object(members{
					"tier": text, "bytes?": count, "samplesPerSecond": number, "bytesPerSample": number, "bytesPerDay": number,
					"fullBytes?": openapi.Whole("The size when the first samples expire."),
				})),
				"bytesPerDay": number, "limit?": text, "limitBytes?": count, "reachedInDays?": number, "settlesAtBytes?": count, "measuredPVs": count,
			}),
			"givenUp?": openapi.Object(members{"before": timestamp, "at": timestamp, "sizeBytes": count, "limitBytes": count}),
			"unknown":  unknown,
		}),
		"Engine": openapi.Object(members{
			"engine": text, "version?": text, "started?": timestamp, "missing?": openapi.String("Why nothing else is known."), "draining?": boolean, "figures?": figures,
		}),
		"Forecast": openapi.Object(members{
			"at": timestamp, "days": openapi.List(openapi.Whole("Days from now.")), "archive": openapi.Ref("Outlook"), "groups": openapi.List(openapi.Ref("Outlook")), "unknown": unknown,
			"limit?": openapi.String("What the limit is."), "limitBytes?": openapi.Whole("The size that the archive must not exceed."),
			"reachedInDays?": openapi.Whole("When the archive reaches the limit; absent if not within ten years."),
		}),
		"Outlook": openapi.Object(members{
			"group?": text, "pvs": count, "measuredPVs": openapi.Whole("PVs whose blocks were read; the others count as if they were like these."),
			"measuredSeconds":  openapi.Number("The time from which the rates were computed."),
			"samplesPerSecond": number, "bytesPerSample": number, "bytesPerDay": openapi.Number("What is added; what expires is not subtracted."),
			"bytes": openapi.Whole("The size now."), "later": openapi.List(openapi.Whole("The size after each of days; none if no PV could be measured.")),
			"estimated?": boolean, "unknown?": openapi.String("What is missing."),
			"tiers": openapi.List(openapi.Object(members{
				"contents": openapi.Enum("", "samples", "rollups", "journal", "other"), "tier?": text, "bytesPerDay": number, "bytes": count,
				"later": openapi.List(openapi.Whole("The size after each of days.")),
			})),
		}),
		"Losses": openapi.Object(members{
			"from": timestamp, "to": timestamp, "pvs": openapi.Whole("PVs that were selected."), "read": openapi.Whole("PVs whose marks were read."), "complete": boolean, "incomplete?": text,
			"causes": openapi.List(openapi.Object(members{
				"cause": text, "meaning": text, "advice": text, "marks": openapi.Whole("Losses."), "samples": openapi.Whole("Samples that are known to be lost."),
				"unknown?": openapi.Whole("Losses that do not say how many samples they lost."), "pvs": count, "first": timestamp, "last": timestamp,
				"worst": openapi.List(openapi.Object(members{"pv": text, "marks": count, "samples": count})),
			})),
		}),
	}
}
