package main

var retrieval = dashboard{
	"retrieval", "Varve: retrieval", "What readers ask for, and how fast they get it.",
	[]variable{{"namespace", "varve_http_requests_in_flight"}, {"service", "varve_http_requests_in_flight"}, {"pod", "varve_http_requests_in_flight"}},
	[]row{
		{"Requests", []panel{
			{1, "Requests by route", perSecond, "The ten routes with the most answers.", []query{
				{`topk(10, sum by (route) (rate(varve_http_requests_total{$in}[$r])))`, "{{route}}"},
			}},
			{2, "Requests by status code", perSecond, "5xx: the archive failed. 503: it was too busy.", []query{
				{`sum by (code) (rate(varve_http_requests_total{$in}[$r]))`, "{{code}}"},
			}},
			{3, "Requests in flight", count, "Requests that are being answered, by pod.", []query{
				{`sum by (pod) (varve_http_requests_in_flight{$in})`, "{{pod}}"},
			}},
			{4, "Time of answers", seconds, "Time from the start of a request to the end of its answer. It includes the time in which the client reads.", []query{
				{`histogram_quantile(0.99, sum by (le) (rate(varve_http_request_seconds_bucket{$in}[$r])))`, "99 %"},
				{`histogram_quantile(0.9, sum by (le) (rate(varve_http_request_seconds_bucket{$in}[$r])))`, "90 %"},
				{`histogram_quantile(0.5, sum by (le) (rate(varve_http_request_seconds_bucket{$in}[$r])))`, "50 %"},
			}},
			{5, "Slow routes", seconds, "The ten routes whose slowest 1 % of answers takes the longest.", []query{
				{`topk(10, histogram_quantile(0.99, sum by (le, route) (rate(varve_http_request_seconds_bucket{$in}[$r]))))`, "{{route}}"},
			}},
			{6, "Reads refused", perSecond, "Reads that the process refused because too many were under way, and connections that it closed.", []query{
				{`sum by (pod) (rate(varve_http_reads_refused_total{$in}[$r]))`, "reads {{pod}}"},
				{`sum by (pod) (rate(varve_http_connections_closed_total{$in}[$r]))`, "connections {{pod}}"},
			}},
		}},
		{"Sources", []panel{
			{7, "Bytes read from Cassandra", bytesPerSecond, "Blobs and indexes that were read.", []query{
				{`sum by (pod) (rate(varve_cassandra_read_bytes_total{$in}[$r]))`, "{{pod}}"},
			}},
			{8, "Queries to engines", perSecond, "Queries for samples that are not in the store yet. If an engine does not answer, the pod reads the journal.", []query{
				{`sum by (pod) (rate(varve_routing_queries_total{$in}[$r]))`, "sent {{pod}}"},
				{`sum by (pod) (rate(varve_routing_failed_queries_total{$in}[$r]))`, "failed {{pod}}"},
				{`sum by (pod) (rate(varve_engine_reads_refused_total{$in}[$r]))`, "refused by engine {{pod}}"},
			}},
			{9, "Routing table", count, "What the pod knows. Shards whose lists it has not read must be 0.", []query{
				{`max by (pod) (varve_routing_engines{$in})`, "engines {{pod}}"},
				{`max by (pod) (varve_routing_shards{$in})`, "shards {{pod}}"},
				{`max by (pod) (varve_routing_incomplete_shards{$in})`, "incomplete shards {{pod}}"},
			}},
		}},
		{"Older archive", []panel{
			{10, "Requests to the older archive", perSecond, "Requests by kind, and failed reads by reason. It is empty without --read-through.", []query{
				{`sum by (kind) (rate(varve_read_through_requests_total{$in}[$r]))`, "{{kind}}"},
				{`sum by (reason) (rate(varve_read_through_errors_total{$in}[$r])) > 0`, "failed: {{reason}}"},
			}},
			{11, "Time of the older archive", seconds, "Time from a request to the end of its answer, for the slowest 1 %.", []query{
				{`histogram_quantile(0.99, sum by (le, kind) (rate(varve_read_through_seconds_bucket{$in}[$r])))`, "{{kind}}"},
			}},
			{12, "Bytes of the older archive", bytesPerSecond, "Answers after decompression.", []query{
				{`sum by (pod) (rate(varve_read_through_bytes_total{$in}[$r]))`, "{{pod}}"},
			}},
		}},
		{"Process", []panel{
			{13, "Memory", bytesIEC, "Memory of the process.", []query{
				{`sum by (pod) (process_resident_memory_bytes{$in})`, "{{pod}}"},
			}},
			{14, "CPU", count, "Processor cores in use.", []query{
				{`sum by (pod) (rate(process_cpu_seconds_total{$in}[$r]))`, "{{pod}}"},
			}},
			{15, "Audit log", perSecond, "Lines written, and lines that are missing.", []query{
				{`sum by (pod) (rate(varve_audit_lines_total{$in}[$r]))`, "written {{pod}}"},
				{`sum by (pod, reason) (rate(varve_audit_dropped_total{$in}[$r])) > 0`, "missing: {{reason}} {{pod}}"},
			}},
		}},
	},
}
