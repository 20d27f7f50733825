package main

var storage = dashboard{
	"storage", "Varve: storage", "What is written to and read from the store, and how it grows.",
	[]variable{
		{"namespace", "varve_http_requests_in_flight"},
		{"service", "varve_http_requests_in_flight"},
	},
	[]row{
		{"Cassandra", []panel{
			{1, "Requests", perSecond, "Answered requests by operation.", []query{
				{`sum by (operation) (rate(varve_cassandra_request_seconds_count{$in}[$r]))`, "{{operation}}"},
			}},
			{2, "Time of requests", seconds, "Time until the slowest 1 % of the requests was answered, by operation.", []query{
				{`histogram_quantile(0.99, sum by (le, operation) (rate(varve_cassandra_request_seconds_bucket{$in}[$r])))`, "{{operation}}"},
			}},
			{3, "Failed requests", perSecond, "Each try counts. Varve tries again.", []query{
				{`sum by (operation, reason) (rate(varve_cassandra_request_errors_total{reason!="canceled",$in}[$r])) > 0`, "{{operation}} {{reason}}"},
				{`sum(rate(varve_cassandra_retries_total{$in}[$r]))`, "retries"},
			}},
			{4, "Bytes written and read", bytesPerSecond, "Bytes of acknowledged rows, and bytes that were read.", []query{
				{`sum(rate(varve_cassandra_written_bytes_total{$in}[$r]))`, "written"},
				{`sum(rate(varve_cassandra_read_bytes_total{$in}[$r]))`, "read"},
			}},
			{5, "Bytes of writes under way", bytesIEC, "Writes that wait for an answer, by pod.", []query{
				{`sum by (pod) (varve_cassandra_in_flight_bytes{$in})`, "{{pod}}"},
			}},
			{6, "Cassandra nodes", count, "Nodes as the pods see them: the largest number of nodes that one pod has connections to, and does not have connections to.", []query{
				{`max by (state) (varve_cassandra_nodes{$in})`, "{{state}}"},
			}},
		}},
		{"Journal, blocks and rollups", []panel{
			{7, "Bytes stored", bytesPerSecond, "Journal rows expire. Blocks and tiles stay. A growing block is written several times.", []query{
				{`sum(rate(varve_journal_bytes_total{$in}[$r]))`, "journal"},
				{`sum(rate(varve_seal_bytes_total{$in}[$r]))`, "blocks"},
				{`sum(rate(varve_seal_tile_bytes_total{$in}[$r]))`, "tiles"},
			}},
			{8, "Journal rows", perSecond, "Journal rows acknowledged, and writes that were repeated.", []query{
				{`sum by (pod) (rate(varve_journal_rows_total{$in}[$r]))`, "rows {{pod}}"},
				{`sum by (pod) (rate(varve_journal_retries_total{$in}[$r])) > 0`, "repeated {{pod}}"},
			}},
			{9, "Marks", perSecond, "Marks and metadata stored, and those that were dropped.", []query{
				{`sum(rate(varve_mark_written_total{$in}[$r]))`, "stored"},
				{`sum(rate(varve_mark_dropped_total{$in}[$r]))`, "dropped"},
			}},
		}},
		{"Disk", []panel{
			{10, "Size of the archive", bytesIEC, "Size on the disks with all replicas, the limit of the disk guard, and the size in 30 days at the rate of the last day.", []query{
				{`max by (namespace, service) (varve_disk_guard_size_bytes{$in} > 0)`, "size {{service}}"},
				{`max by (namespace, service) (varve_disk_guard_limit_bytes{$in} > 0)`, "limit {{service}}"},
				{`predict_linear(max by (namespace, service) (varve_disk_guard_size_bytes{$in} > 0)[1d:5m], 30 * 86400)`, "in 30 days {{service}}"},
			}},
			{11, "Raw samples deleted for space", bytesPerSecond, "Bytes that the disk guard deletes because the archive is near its limit.", []query{
				{`sum by (service) (rate(varve_disk_guard_dropped_bytes_total{$in}[$r]))`, "{{service}}"},
			}},
			{12, "Retention", count, "PVs whose blocks migrate to another tier, and failed deletions of expired samples in an hour.", []query{
				{`sum by (service) (varve_seal_moves_waiting{$in})`, "PVs waiting {{service}}"},
				{`sum by (service) (increase(varve_engine_expire_failures_total{$in}[1h]))`, "failed deletions {{service}}"},
			}},
		}},
		{"Archive in a directory", []panel{
			{13, "Bytes on disk", bytesIEC, "Size of the directory, and what compactions must still process. These panels are empty with Cassandra.", []query{
				{`max by (pod) (varve_pebble_disk_bytes{$in})`, "size {{pod}}"},
				{`max by (pod) (varve_pebble_compaction_debt_bytes{$in})`, "waiting for compaction {{pod}}"},
			}},
			{14, "Time of writes", seconds, "Time until the slowest 1 % of the writes was durable, by table.", []query{
				{`histogram_quantile(0.99, sum by (le, table) (rate(varve_pebble_write_seconds_bucket{$in}[$r])))`, "{{table}}"},
			}},
			{15, "Failed writes", perSecond, "Failed writes by table.", []query{
				{`sum by (table) (rate(varve_pebble_write_errors_total{$in}[$r]))`, "{{table}}"},
			}},
		}},
	},
}
