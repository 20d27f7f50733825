package main

var engine = dashboard{
	"engine", "Varve: engine", "What an engine does with its IOCs, its memory and its disk.",
	append(archive[:2:2], variable{"pod", "varve_capture_channels"}),
	[]row{
		{"Circuits", []panel{
			{1, "Circuits", count, "TCP circuits to IOCs and gateways.", []query{
				{`sum by (pod) (varve_ca_circuits{$in})`, "CA {{pod}}"},
				{`sum by (pod) (varve_pva_circuits{$in})`, "PVA {{pod}}"},
			}},
			{2, "Circuits that ended or failed", count, "In five minutes.", []query{
				{`sum by (pod) (increase(varve_ca_circuits_ended_total{$in}[5m]))`, "CA ended {{pod}}"},
				{`sum by (pod) (increase(varve_pva_circuits_ended_total{$in}[5m]))`, "PVA ended {{pod}}"},
				{`sum by (pod) (increase(varve_ca_connect_failures_total{$in}[5m]))`, "CA failed {{pod}}"},
				{`sum by (pod) (increase(varve_pva_connect_failures_total{$in}[5m]))`, "PVA failed {{pod}}"},
			}},
			{3, "Bytes from IOCs", bytesPerSecond, "Bytes received on circuits.", []query{
				{`sum by (pod) (rate(varve_ca_received_bytes_total{$in}[$r]))`, "CA {{pod}}"},
				{`sum by (pod) (rate(varve_pva_received_bytes_total{$in}[$r]))`, "PVA {{pod}}"},
			}},
			{4, "Updates", perSecond, "Updates received from servers.", []query{
				{`sum by (pod) (rate(varve_ca_events_total{$in}[$r]))`, "CA {{pod}}"},
				{`sum by (pod) (rate(varve_pva_events_total{$in}[$r]))`, "PVA {{pod}}"},
			}},
			{5, "Channels", count, "Channels of the engine by state.", []query{
				{`sum by (pod, state) (varve_capture_channels{$in})`, "{{pod}} {{state}}"},
			}},
			{6, "Subscriptions checked and healed", count, "Checks of channels without updates in five minutes, by result, and channels that were resubscribed.", []query{
				{`sum by (pod, result) (increase(varve_ca_subscription_checks_total{$in}[5m]))`, "CA {{result}} {{pod}}"},
				{`sum by (pod, result) (increase(varve_pva_subscription_checks_total{$in}[5m]))`, "PVA {{result}} {{pod}}"},
				{`sum by (pod) (increase(varve_capture_resubscribed_total{$in}[5m]))`, "resubscribed {{pod}}"},
			}},
		}},
		{"Searches", []panel{
			{7, "Names searched", perSecond, "Names of channels in searches, repeated ones included.", []query{
				{`sum by (pod) (rate(varve_ca_searches_total{$in}[$r]))`, "CA {{pod}}"},
				{`sum by (pod) (rate(varve_pva_searches_total{$in}[$r]))`, "PVA {{pod}}"},
			}},
			{8, "Datagrams of searches", perSecond, "UDP datagrams sent, and those that failed.", []query{
				{`sum by (pod) (rate(varve_ca_search_datagrams_total{$in}[$r]))`, "CA {{pod}}"},
				{`sum by (pod) (rate(varve_pva_search_datagrams_total{$in}[$r]))`, "PVA {{pod}}"},
				{`sum by (pod) (rate(varve_ca_search_datagram_errors_total{$in}[$r])) > 0`, "CA failed {{pod}}"},
				{`sum by (pod) (rate(varve_pva_datagram_errors_total{$in}[$r])) > 0`, "PVA failed {{pod}}"},
			}},
			{9, "Incomplete searches", count, "Protocols without addresses, or with addresses that cannot be resolved.", []query{
				{`max by (pod) (varve_capture_search_problems{$in})`, "{{pod}}"},
			}},
		}},
		{"Memory", []panel{
			{10, "Memory by part", bytesIEC, "samples: not in a block yet. receive: frames of circuits. Cassandra: writes under way. process: all memory of the process.", []query{
				{`sum by (pod) (varve_journal_memory_bytes{$in})`, "samples {{pod}}"},
				{`sum by (pod) (varve_engine_receive_bytes{$in})`, "receive {{pod}}"},
				{`sum by (pod) (varve_cassandra_in_flight_bytes{$in})`, "Cassandra {{pod}}"},
				{`sum by (pod) (process_resident_memory_bytes{$in})`, "process {{pod}}"},
			}},
			{11, "Memory for samples in use", share, "At 100 %, samples go to the spool, or the oldest are dropped.", []query{
				{`max by (pod) (varve_journal_memory_bytes{$in} / varve_journal_memory_limit_bytes{$in})`, "{{pod}}"},
			}},
			{12, "CPU", count, "Processor cores in use.", []query{
				{`sum by (pod) (rate(process_cpu_seconds_total{$in}[$r]))`, "{{pod}}"},
			}},
		}},
		{"Sealing", []panel{
			{13, "Duration of checkpoints", seconds, "Time that a checkpoint of a shard takes.", []query{
				{`histogram_quantile(0.99, sum by (le, pod) (rate(varve_seal_checkpoint_seconds_bucket{$in}[$r])))`, "99 % {{pod}}"},
				{`histogram_quantile(0.5, sum by (le, pod) (rate(varve_seal_checkpoint_seconds_bucket{$in}[$r])))`, "50 % {{pod}}"},
			}},
			{14, "Shards", count, "Shards that the engine captures, seals, or has released but not closed yet.", []query{
				{`sum by (pod) (varve_engine_shards_held{$in})`, "held {{pod}}"},
				{`sum by (pod) (varve_engine_shards_sealing{$in})`, "sealing {{pod}}"},
				{`sum by (pod) (varve_engine_shards_leaving{$in})`, "leaving {{pod}}"},
			}},
			{15, "Rollups", count, "Checkpoints that deferred rollups because memory was short, and PVs whose rollups were corrected, in five minutes.", []query{
				{`sum by (pod) (increase(varve_seal_rollups_put_off_total{$in}[5m]))`, "deferred {{pod}}"},
				{`sum by (pod) (increase(varve_seal_rollups_corrected_total{$in}[5m]))`, "corrected {{pod}}"},
			}},
		}},
		{"Spool", []panel{
			{16, "Spool in use", share, "When the spool is full, the engine drops the oldest samples.", []query{
				{`max by (pod) (varve_spool_bytes{$in} / varve_spool_limit_bytes{$in})`, "{{pod}}"},
			}},
			{17, "Samples put into the spool and sent", perSecond, "While Cassandra is away, samples go to the spool. Afterwards they are sent.", []query{
				{`sum by (pod) (rate(varve_spool_put_samples_total{$in}[$r]))`, "put {{pod}}"},
				{`sum by (pod) (rate(varve_spool_sent_samples_total{$in}[$r]))`, "sent {{pod}}"},
			}},
			{18, "Failures of the spool", count, "Failures of the disk, and of sending to the store, in five minutes.", []query{
				{`sum by (pod) (increase(varve_spool_failures_total{$in}[5m]))`, "disk {{pod}}"},
				{`sum by (pod) (increase(varve_spool_retries_total{$in}[5m]))`, "store {{pod}}"},
			}},
		}},
		{"Clock, certificate and orders", []panel{
			{19, "Clock", seconds, "What must be added to the clock of the node. wrong: 1 if the clock is wrong.", []query{
				{`max by (pod) (abs(varve_clock_offset_seconds{$in}))`, "offset {{pod}}"},
				{`max by (pod) (varve_clock_wrong{$in})`, "wrong {{pod}}"},
			}},
			{20, "Time until the certificate expires", seconds, "Certificate for the paths below /internal. cert-manager renews it 8 hours before its end.", []query{
				{`min by (pod) ((varve_internal_tls_certificate_end_timestamp_seconds{$in} > 0) - time())`, "{{pod}}"},
			}},
			{21, "Problems with the API server", count, "Failed renewals of the Lease in five minutes, shards without an order, and channel lists that cannot be read.", []query{
				{`sum by (pod) (increase(varve_agent_lease_failures_total{$in}[5m]))`, "Lease {{pod}}"},
				{`sum by (pod) (varve_agent_orphaned_shards{$in})`, "without an order {{pod}}"},
				{`sum by (pod) (varve_agent_unreadable_lists{$in})`, "unreadable lists {{pod}}"},
			}},
		}},
	},
}
