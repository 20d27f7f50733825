package manifesttest

import (
	"fmt"
	"strings"

	"varve.dev/varve/api/v1alpha1"
)

// group returns a manifest with the given body of a spec, in flow style.
func group(spec string) string {
	return fmt.Sprintf(`
apiVersion: varve.dev/v1alpha1
kind: ArchiveGroup
metadata: {name: x}
spec: {archiverRef: {name: main}, %s}
`, spec)
}

func channel(settings string) string { return fmt.Sprintf("channels: [{name: X, %s}]", settings) }

// Groups are ArchiveGroups, valid and invalid ones.
func Groups() (all []Case) {
	for _, spec := range validGroups {
		all = append(all, Case{Kind: v1alpha1.KindArchiveGroup, Manifest: group(spec)})
	}
	for _, c := range invalidGroups {
		byOperator := strings.Contains(c.want, "the same PV as") || strings.Contains(c.want, "the name is empty")
		all = append(all, Case{Kind: v1alpha1.KindArchiveGroup, Manifest: group(c.spec), Want: c.want, ByOperator: byOperator})
	}
	return all
}

// Malformed are ArchiveGroups with one value of a wrong type or form.
func Malformed() (all []Case) {
	for _, c := range malformedGroups {
		all = append(all, Case{Kind: v1alpha1.KindArchiveGroup, Manifest: group(c.spec), Want: c.want})
	}
	return all
}

var validGroups = []string{
	"channels: []",
	`channels: [{name: "ca://SR01-VA:PRES-01.VAL"}, {name: "X.DESC"}, {name: 'X.{"dbnd":{"abs":1}}'}]`,
	"sampling: {mode: Monitor, events: [Log, Alarm], deadband: {absolute: 0.01}, maxRate: 100, clock: Source}",
	"sampling: {mode: Scan, period: 100ms, events: [Value]}",
	"sampling: {deadband: {absolute: 1e-12, relative: 0.999}, maxRate: 0}",
	"sampling: {deadband: {unchanged: true, heartbeat: 1s}}",
	"sampling: {deadband: {absolute: 0.5, heartbeat: 10m}}",
	channel("sampling: {deadband: {unchanged: true}}, expiresAt: 2027-01-01T00:00:00Z"),
	"pauses: [{from: 2027-07-01T06:00:00Z, to: 2027-07-02T06:00:00+02:00, reason: shutdown of the ring, match: '^SR[0-9]{2}-[A-Z]{1,99}-(A|B){9}$'}, {from: 2027-07-01T06:00:00Z, to: 2028-07-02T06:00:00Z, reason: x}]",
	"rules: [{match: '^SR.*:P$', sampling: {mode: Scan, period: 10s}, retention: {raw: 1y}, redundancy: 2, properties: [DESC], paused: false}, {match: X}]",
	"sampling: {maxPeriod: 1s}", "sampling: {mode: Scan, period: 1s, maxPeriod: 1000ms}", channel("sampling: {maxPeriod: 10m}"),
	"enabledBy: {pv: SR:BEAM}", "enabledBy: {pv: 'pva://SR:BEAM', when: '>=-0.5e-3'}", "enabledBy: {pv: A, when: \"!= 'it''s open'\"}",
	channel("enabledBy: {pv: A, when: 'between 1 and 3.5'}"), "rules: [{match: A, enabledBy: {pv: A, when: ' = 3 '}}]",
	"sampling: {clock: Source, clockLimit: {ahead: 0s, behind: 1y, onExceeded: Refuse}}",
	channel("provider: CA, paused: true, redundancy: 2, properties: [EGU]"),
	`channels: [{name: "pva://SR01:IMG", fields: [value, dimension.size]}, {name: A, provider: PVA, fields: [a_1.B]}, {name: B, fields: [value]}]`,
	"provider: PVA, fields: [value], channels: [{name: X}, {name: ca://A}, {name: B, provider: CA}]",
	"fields: [value, a.b.c.d.e.f.g.h], properties: [DESC, RTYP, A, N2O_X]",
	"provider: CA",
	channel("sampling: {mode: Scan, period: 1h}"),
	"properties: [EGU, PREC, HIHI, HIGH, LOW, LOLO, HOPR, LOPR]",
	"expiresAt: 2027-06-30T00:00:00Z, paused: true, redundancy: 2, deletionPolicy: Retain",
	"shardBy: {channel: {}}",
	"shardBy: {group: {}}",
	`shardBy: {prefix: {regex: "^([^:]+):"}}`,
	"channelsFrom: [{configMap: {name: x}}, {channelFinder: {url: 'http://cf:8080/ChannelFinder', query: '~tag=archive&~name=SR*'}}]",
	"retention: {raw: 90d, rollups: [{every: 10s, keep: 2y}, {every: 5m, keep: 10y}, {every: 6h}]}",
	channel("retention: {raw: 90d}"),
	"deletionPolicy: Delete",
	"requests: {users: [ann]}", "requests: {groups: [scripts], users: [anonymous], match: '^SR'}",
}

var invalidGroups = []struct{ spec, want string }{
	// Wrong.
	{"sampling: {mode: Scan}", "spec.sampling.period: Required value: period is required for mode Scan"},
	{"sampling: {period: 1s}", "spec.sampling.period: Invalid value: period requires mode Scan"},
	{"sampling: {mode: Monitor, period: 1s}", "spec.sampling.period: Invalid value: period requires mode Scan"},
	{"sampling: {mode: Scan, period: 99ms}", `spec.sampling.period: Invalid value: "99ms": period must be at least 100ms`},
	{"sampling: {mode: Scan, period: 0s}", `spec.sampling.period: Invalid value: "0s": period must be at least 100ms`},
	{"sampling: {mode: Scan, period: 1s, deadband: {}}", "spec.sampling.deadband: Invalid value: deadband requires mode Monitor"},
	{"sampling: {mode: Scan, period: 1s, maxRate: 1}", "spec.sampling.maxRate: Invalid value: maxRate requires mode Monitor"},
	{"sampling: {clock: Engine, clockLimit: {}}", "spec.sampling.clockLimit: Invalid value: clockLimit requires clock Source"},
	{"sampling: {clockLimit: {ahead: 200y}}", `spec.sampling.clockLimit.ahead: Invalid value: "200y": a duration must have at most`},
	{"sampling: {clockLimit: {ahead: 1.5h}}", "should match '^[0-9]+(ms|s|m|h|d|w|y)$'"},
	{"sampling: {deadband: {absolute: -0.1}}", "spec.sampling.deadband.absolute in body should be greater than or equal to 0"},
	{"sampling: {deadband: {relative: 1}}", "spec.sampling.deadband.relative in body should be less than 1"},
	{"sampling: {deadband: {absolute: .nan}}", "a number is NaN"},
	{"sampling: {deadband: {absolute: .inf}}", "a number is +Inf"},
	{"sampling: {events: [Log, Log]}", `spec.sampling.events[1]: Duplicate value: "Log"`},
	{"sampling: {maxRate: -1}", "spec.sampling.maxRate in body should be greater than or equal to 0"},
	{"shardBy: {}", "spec.shardBy: Invalid value: exactly one of the fields in [channel prefix group] must be set"},
	{"shardBy: {group: {}, channel: {}}", "spec.shardBy: Invalid value: exactly one of the fields in [channel prefix group] must be set"},
	{"shardBy: {prefix: {regex: '('}}", "regex must be a regular expression in RE2 syntax"},
	{"channels: [{name: 'a b'}]", `spec.channels[0].name: Invalid value: "a b"`},
	{"channels: [{name: X}, {name: ca://X.VAL}]", `spec.channels[1].name: Duplicate value: "ca://X.VAL": the same PV as "X" (spec.channels[0])`},
	{"channels: [{name: .VAL}]", `spec.channels[0].name: Invalid value: ".VAL": the name is empty`},
	{"channels: [{name: pva://X, provider: CA}]", "spec.channels[0].provider: Invalid value: provider must be PVA or unset: the name starts with pva://"},
	{"provider: TCP", `spec.provider: Unsupported value: "TCP"`},
	{"provider: CA, fields: [value]", "spec.fields: Invalid value: spec.fields requires provider PVA"},
	{channel("provider: CA, fields: [value]"), "spec.channels[0].fields: Invalid value: fields requires provider PVA"},
	{"channels: [{name: ca://X, fields: [value]}]", "spec.channels[0].fields: Invalid value: fields requires provider PVA"},
	{"fields: []", "spec.fields in body should have at least 1 items"},
	{"fields: [value, value]", `spec.fields[1]: Duplicate value: "value"`},
	{"fields: [value.]", "spec.fields[0] in body should match"},
	{"fields: [a.b.c.d.e.f.g.h.i]", "spec.fields[0] in body should match"},
	{channel("fields: ['a b']"), "spec.channels[0].fields[0] in body should match"},
	{"properties: [desc]", "spec.properties[0] in body should match"},
	{channel("properties: [.DESC]"), "spec.channels[0].properties[0] in body should match"},
	{"channels: [{name: X}, {name: pva://X}]", `spec.channels[1].name: Duplicate value: "pva://X": the same PV as "X" (spec.channels[0])`},
	{channel("sampling: {mode: Scan}"), "spec.channels[0].sampling.period: Required value: period is required for mode Scan"},
	{"chanels: []", `unknown field "spec.chanels"`},
	{channel("samplng: {}"), `unknown field "spec.channels[0].samplng"`},
	{"expiresAt: tomorrow", "spec.expiresAt"},
	{"redundancy: 3", "spec.redundancy in body should be less than or equal to 2"},
	{"redundancy: 0", "spec.redundancy in body should be greater than or equal to 1"},
	{channel("redundancy: 3"), "spec.channels[0].redundancy in body should be less than or equal to 2"},
	{channel("redundancy: 0"), "spec.channels[0].redundancy in body should be greater than or equal to 1"},

	// Wrong, in other fields of the spec.
	{"channelsFrom: []", "spec.channelsFrom in body should have at least 1 items"},
	{"channelsFrom: [{configMap: {name: x}, channelFinder: {url: 'http://cf', query: a}}]", "spec.channelsFrom[0]: Invalid value: exactly one of the fields in [configMap channelFinder] must be set"},
	{"channelsFrom: [{configMap: {name: ''}}]", "spec.channelsFrom[0].configMap.name in body should be at least 1 chars long"},
	{"channelsFrom: [{channelFinder: {url: cf, query: a}}]", "spec.channelsFrom[0].channelFinder.url in body should match '^https?://"},
	{"channelsFrom: [{channelFinder: {url: 'http://cf', query: ''}}]", "spec.channelsFrom[0].channelFinder.query in body should be at least 1 chars long"},
	{"deletionPolicy: Purge", `spec.deletionPolicy: Unsupported value: "Purge"`},
	{"channelsFrom: [{}]", "spec.channelsFrom[0]: Invalid value: exactly one of the fields in [configMap channelFinder] must be set"},
	{"retention: {raw: 0d}", "raw must be at least 1h"},
	{"retention: {rollups: [{every: 10s, keep: 2y}, {every: 5m, keep: 104w}]}", "spec.retention.rollups: Invalid value: rollups must not have a shorter keep than a finer rollup"},
	{"retention: {rollups: [{every: 10s}, {every: 5m, keep: 1y}]}", "spec.retention.rollups: Invalid value: rollups must not have a shorter keep than a finer rollup"},
	{"retention: {rollups: [{every: 5m}, {every: 10s}]}", "spec.retention.rollups: Invalid value: rollups must be in ascending order of every, without duplicates"},
	{"retention: {rollups: [{every: 1m}, {every: 60s}]}", "spec.retention.rollups: Invalid value: rollups must be in ascending order of every, without duplicates"},

	{"sampling: {deadband: {heartbeat: 10m}}", "spec.sampling.deadband.heartbeat: Invalid value: heartbeat requires absolute, relative or unchanged"},
	{"sampling: {deadband: {unchanged: false, heartbeat: 10m}}", "spec.sampling.deadband.heartbeat: Invalid value: heartbeat requires absolute, relative or unchanged"},
	{"sampling: {deadband: {unchanged: true, heartbeat: 999ms}}", `spec.sampling.deadband.heartbeat: Invalid value: "999ms": heartbeat must be at least 1s`},
	{channel("expiresAt: soon"), "spec.channels[0].expiresAt"},
	{channel("expiresAt: '2127-01-01t00:00:00z'"), "spec.channels[0].expiresAt"},
	{channel("expiresAt: '2127-01-01T00:00:00+99:99'"), "spec.channels[0].expiresAt"},
	{channel("expiresAt: '2127-01-01T00:00:00x5Z'"), "spec.channels[0].expiresAt"},
	{"expiresAt: '2127-01-01t00:00:00z'", "spec.expiresAt"},
	{"expiresAt: '2127-01-01T00:00:00+99:99'", "spec.expiresAt"},
	{"expiresAt: '1969-12-31T00:00:00Z'", `spec.expiresAt: Invalid value: "1969-12-31T00:00:00Z": expiresAt must be a time such as 2027-06-30T00:00:00Z`},
	{"pauses: [{from: 2027-07-02T06:00:00Z, to: 2027-07-02T08:00:00+02:00, reason: x}]", "spec.pauses[0].to: Invalid value: to must be after from"},
	{"pauses: [{from: 2027-07-02T06:00:00Z, to: 2027-07-03T06:00:00Z}]", "spec.pauses[0].reason"},
	{"pauses: [{from: 2027-07-02T06:00:00Z, reason: x}]", "spec.pauses[0].to"},
	{"pauses: [{from: 2027-07-02T06:00:00Z, to: 2027-07-03T06:00:00Z, reason: x, match: '('}]", "match must be a regular expression in RE2 syntax"},
	{"rules: [{match: '.{0,100}'}]", `spec.rules[0].match: Invalid value: ".{0,100}": match must not repeat a character more than 99 times`},
	{"rules: [{match: '(AB){10}'}]", `spec.rules[0].match: Invalid value: "(AB){10}": match must not repeat a character more than 99 times or a group more than 9 times`},
	{"rules: [{match: '((AB){9}C){9}'}]", "may repeat only one group by a number"},
	{"pauses: [{from: 2027-07-02T06:00:00Z, to: 2027-07-03T06:00:00Z, reason: x, match: 'A{3,1000}'}]", `spec.pauses[0].match: Invalid value: "A{3,1000}": match must not repeat`},
	{"rules: [{match: '['}]", "match must be a regular expression in RE2 syntax"},
	{"rules: [{paused: true}]", "spec.rules[0].match"},
	{"rules: [{match: A, sampling: {mode: Scan}}]", "spec.rules[0].sampling.period: Required value: period is required for mode Scan"},
	{"rules: [{match: A, redundancy: 3}]", "spec.rules[0].redundancy in body should be less than or equal to 2"},
	{"rules: [{match: A, provider: CA}]", `unknown field "spec.rules[0].provider"`},

	{"sampling: {maxPeriod: 999ms}", `spec.sampling.maxPeriod: Invalid value: "999ms": maxPeriod must be at least 1s`},
	{"sampling: {maxPeriod: 0s}", "maxPeriod must be at least 1s"},
	{"requests: {}", "spec.requests: Invalid value: requests must name users or groups"},
	{"requests: {match: A}", "spec.requests: Invalid value: requests must name users or groups"},
	{"requests: {users: []}", "spec.requests.users"},
	{"requests: {users: [ann, ann]}", "spec.requests.users[1]: Duplicate value"},
	{"requests: {users: [ann], match: '('}", "spec.requests.match: Invalid value: \"string\": error parsing regexp"},
	{"requests: {users: [ann], match: 'A{100}'}", "match must not repeat a character more than 99 times"},
	{"enabledBy: {when: '> 1'}", "spec.enabledBy.pv"},
	{"enabledBy: {pv: 'A B'}", "spec.enabledBy.pv"},
	{"enabledBy: {pv: A, when: '== Open'}", "spec.enabledBy.when: Invalid value: \"== Open\": when must be a condition such as != 0, > 0.5, == 'Open' or between 1 and 3"},
	{"enabledBy: {pv: A, when: \"< 'Open'\"}", "when must be a condition"},
	{"enabledBy: {pv: A, when: '== 1 or > 3'}", "when must be a condition"},
	{"enabledBy: {pv: A, when: '> NaN'}", "when must be a condition"},
	{channel("enabledBy: {pv: A, when: B > 3}"), "spec.channels[0].enabledBy.when: Invalid value"},
	{"rules: [{match: A, enabledBy: {pv: A, when: '>'}}]", "spec.rules[0].enabledBy.when: Invalid value"},
	{"channels: [{name: ca://X, provider: PVA}]", "spec.channels[0].provider: Invalid value: provider must be CA or unset: the name starts with ca://"},
	{"retention: {raw: 90s}", `spec.retention.raw: Invalid value: "90s": raw must be at least 1h, in units of h, d, w or y`},
	{"retention: {rollups: [{every: 999ms}]}", "every must be at least 1s"},
	{"retention: {rollups: [{every: 10s, keep: 60m}]}", "keep must be at least 1h, in units of h, d, w or y"},
	{"deletions: [{to: 2026-01-01T00:00:00Z, reason: x}]", "set either pvs or match"},
	{"deletions: [{pvs: [X], match: X, count: 1, to: 2026-01-01T00:00:00Z, reason: x}]", "set either pvs or match"},
	{"deletions: [{match: X, to: 2026-01-01T00:00:00Z, reason: x}]", "set count together with match"},
	{"deletions: [{pvs: [X], from: 2026-01-02T00:00:00Z, to: 2026-01-01T00:00:00Z, reason: x}]", "to must be after from"},
	{"requests: {users: ['" + strings.Repeat("ä", 129) + "']}", "names have at most 256 bytes"},
}

var malformedGroups = []struct{ spec, want string }{
	{`channels: ["SR:A"]`, `spec.channels[0]: Invalid value: "SR:A": must be of type object; write {name: "SR:A"}`},
	{"channels: [{name: 5}]", `spec.channels[0].name: Invalid value: 5: must be of type string; write it in quotes: "5"`},
	{"channels: A", `spec.channels: Invalid value: "A": must be of type array; write it like [{name: "PV"}]`},
	{"channels: {name: A}", `unknown field "spec.channels.name"; spec.channels is a list: write it like [{name: "PV"}]`},
	{"chanels: []", `unknown field "spec.chanels"; the fields of spec are archiverRef, channels, channelsFrom, `},
	{"channels: [{nam: A}]", `unknown field "spec.channels[0].nam"; the fields of spec.channels[0] are `},
	{"channels: [{name: A, sampling: {modus: Scan}}]", `"spec.channels[0].sampling.modus"; the fields of spec.channels[0].sampling are clock, `},
	{"channels: [{name: A, paused: maybe}]", `must be of type boolean; write true or false`},
	{"sampling: Scan", `must be of type object; write it like {mode: Scan, period: 10s}`},
	{"sampling: {mode: Scan, period: 10}", `must be of type string; write a number and a unit, such as 10s`},
	{"properties: DESC", `must be of type array; write it like [DESC]`},
	{"retention: {rollups: [10s]}", `spec.retention.rollups[0]: Invalid value: "10s": must be of type object; write {every: 10s}`},
	{"redundancy: two", `spec.redundancy: Invalid value: "two": must be of type integer; write it like 2`},
	{"retention: {raw: forever}", "leave raw out to keep data forever"},
	{"retention: {raw: 1d, rollups: [{every: 10s, keep: forever}]}", "leave keep out to keep data forever"},
	{"retention: {raw: 3mo}", "months differ in length: write 90d"},
	{"retention: {raw: 90}", "spec.retention.raw: Invalid value: 90: must be of type string; write a number and a unit, such as 90d"},
	{"sampling: {mode: Scan, period: 10 s}", "units ms, s, m, h, d, w and y, such as 90d"},
}
