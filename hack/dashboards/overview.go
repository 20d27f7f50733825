package main

// archive selects engines by the labels that Prometheus adds.
var archive = []variable{{"namespace", "varve_capture_channels"}, {"service", "varve_capture_channels"}}

var overview = dashboard{
	"overview", "Varve: overview", "Is every sample archived, and does the archive keep up?", archive,
	[]row{
		{"Samples", []panel{
			{1, "Samples received", perSecond, "Samples per second from IOCs, by engine.", []query{
				{`sum by (pod) (rate(varve_capture_received_total{$in}[$r]))`, "{{pod}}"},
			}},
			{2, "Samples lost", perSecond, "Updates per second that could not be archived, by engine and reason. It must be zero.", []query{
				{`sum by (pod, reason) (rate(varve_capture_dropped_total{reason=~"overflow|damaged|clock|too_large|overrun|unsupported|malformed",$in}[$r])) > 0`, "{{pod}} {{reason}}"},
				{`sum by (pod, reason) (rate(varve_spool_dropped_samples_total{$in}[$r])) > 0`, "{{pod}} spool {{reason}}"},
			}},
			{3, "Samples left out as requested", perSecond, "Updates per second that deadbands, rates, scans and conditions of groups leave out.", []query{
				{`sum by (reason) (rate(varve_capture_dropped_total{reason=~"deadband|rate|scan|duplicate|condition_unmet|expired",$in}[$r]))`, "{{reason}}"},
			}},
		}},
		{"Durability", []panel{
			{4, "Time until samples are stored", seconds, "Time from building a journal row to its acknowledgement by the store, by engine.", []query{
				{`histogram_quantile(0.99, sum by (le, pod) (rate(varve_journal_durable_seconds_bucket{$in}[$r])))`, "99 % {{pod}}"},
				{`histogram_quantile(0.5, sum by (le, pod) (rate(varve_journal_durable_seconds_bucket{$in}[$r])))`, "50 % {{pod}}"},
			}},
			{5, "Memory and spool in use", share, "Share of the memory and of the spool that waiting samples take. At 100 %, the oldest samples are dropped.", []query{
				{`max by (pod) (varve_journal_memory_bytes{$in} / varve_journal_memory_limit_bytes{$in})`, "memory {{pod}}"},
				{`max by (pod) (varve_spool_bytes{$in} / varve_spool_limit_bytes{$in})`, "spool {{pod}}"},
			}},
			{6, "Oldest samples in a spool", seconds, "How long the oldest samples have waited on the disk of an engine.", []query{
				{`max by (pod) (varve_spool_oldest_seconds{$in})`, "{{pod}}"},
			}},
		}},
		{"Sealing", []panel{
			{7, "Oldest unsealed samples", share, "Age of the oldest unsealed journal row, as a share of the time for which Cassandra keeps it.", []query{
				{`max by (pod) (varve_engine_oldest_unsealed_seconds{$in} / (varve_engine_journal_kept_seconds{$in} > 0))`, "{{pod}}"},
			}},
			{8, "Samples sealed", perSecond, "Samples per second that engines move from the journal to blocks.", []query{
				{`sum by (pod) (rate(varve_seal_samples_total{$in}[$r]))`, "{{pod}}"},
			}},
			{9, "Problems of sealing", count, "Failures in five minutes. Expired rows and damaged objects mean that data is lost.", []query{
				{`sum by (pod) (increase(varve_seal_failures_total{$in}[5m])) > 0`, "failed checkpoints {{pod}}"},
				{`sum by (pod) (increase(varve_seal_refused_total{$in}[5m])) > 0`, "refused PVs {{pod}}"},
				{`sum by (pod) (increase(varve_seal_expired_rows_total{$in}[5m])) > 0`, "expired rows {{pod}}"},
				{`sum by (pod) (increase(varve_seal_damaged_objects_total{$in}[5m])) > 0`, "damaged objects {{pod}}"},
			}},
		}},
		{"PVs and groups", []panel{
			{10, "Channels by state", count, "Channels of all engines.", []query{
				{`sum by (state) (varve_capture_channels{$in})`, "{{state}}"},
			}},
			{11, "Connected share of groups", share, "The ten groups with the smallest share of connected channels. Paused and disabled channels do not count.", []query{
				{`bottomk(10, max by (group) (varve_operator_group_channels{state="connected",$groups}) / sum by (group) (max by (group, state) (varve_operator_group_channels{state=~"connected|disconnected|never_connected",$groups})))`, "{{group}}"},
			}},
			{12, "Silent channels", count, "Channels that engines resubscribed in five minutes, because they were connected but sent no updates.", []query{
				{`sum by (pod) (increase(varve_capture_resubscribed_total{$in}[5m]))`, "{{pod}}"},
			}},
		}},
		{"Shards and moves", []panel{
			{13, "Shards by phase", count, "Moving: between two engines. Unplaced: with channels, but without an engine.", []query{
				{`max by (archiver, phase) (varve_operator_archiver_shards{$of})`, "{{archiver}} {{phase}}"},
			}},
			{14, "Moves of shards", count, "Moves that began in five minutes, by reason, and moves that were undone. It counts all archives of the operator.", []query{
				{`sum by (reason) (increase(varve_operator_moves_total[5m]))`, "{{reason}}"},
				{`sum(increase(varve_operator_moves_undone_total[5m]))`, "undone"},
			}},
			{15, "Engines", count, "Engines that report, and engines of all archives that died in five minutes.", []query{
				{`count by (namespace, service) (varve_engine_shards_held{$in})`, "{{namespace}}/{{service}}"},
				{`sum(increase(varve_operator_engine_deaths_total[5m]))`, "died"},
			}},
		}},
		{"Operator", []panel{
			{16, "Conditions of Archivers", count, "1: the condition is True. Ready should be 1, Degraded and Stalled should be 0.", []query{
				{`max by (archiver, condition) (varve_operator_archiver_condition{condition=~"Ready|Reconciling|Stalled|Degraded|StorageReady",$of})`, "{{archiver}} {{condition}}"},
			}},
			{17, "Rate of Archivers", perSecond, "Samples per second that the engines report to the operator. A PV that two engines capture counts twice.", []query{
				{`max by (archiver) (varve_operator_archiver_samples_per_second{$of})`, "{{archiver}}"},
			}},
			{18, "Failures of the operator", count, "Failures in five minutes.", []query{
				{`sum(increase(varve_operator_report_failures_total[5m]))`, "reports of engines"},
				{`sum(increase(varve_operator_lease_list_failures_total[5m]))`, "lists of Leases"},
				{`sum by (controller) (increase(controller_runtime_reconcile_errors_total{controller=~"archiver|archivegroup|archivepolicy|shards|archivebackup|archivebackupschedule|archiverestore"}[5m])) > 0`, "{{controller}}"},
			}},
		}},
		{"Backups", []panel{
			{19, "Time since the latest backup", seconds, "Samples that are younger than this are in no backup, by archive.", []query{
				{`time() - max by (archiver) (varve_backup_last_success_timestamp_seconds)`, "{{archiver}}"},
			}},
			{20, "Overdue backups", seconds, "For how long a backup of an ArchiveBackupSchedule has been due. It falls below zero when the backup is complete.", []query{
				{`time() - min by (schedule) (varve_backup_due_timestamp_seconds)`, "{{schedule}}"},
			}},
			{21, "Failed backups", count, "1: the latest backup of an ArchiveBackupSchedule failed or is damaged.", []query{
				{`max by (schedule) (varve_backup_last_failed)`, "{{schedule}}"},
			}},
		}},
	},
}
