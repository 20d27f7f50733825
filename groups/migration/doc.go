// Package migration makes ArchiveGroups from the configuration of another archiver:
//
//	exportConfig (JSON) ─▶ Appliance ─┐
//	engineconfig (XML) ──▶ EngineXML ─┼─▶ Source: channels, notes ─▶ Plan ─▶ classes ─▶ Files: YAML ─▶ Check
//	names, CSV ──────────▶ List ──────┘                                                     └─▶ Directory
//
// A class is the PVs with the same policy and the same settings. It becomes an ArchiveGroup, whose name
// depends only on the policy and the settings, and ConfigMaps with the names of the PVs. A hash of the
// name decides in which ConfigMap a PV is. So a change of few PVs in the source changes few lines, and
// the order of the source has no effect.
//
// A PV that cannot be archived, or not as before, is in a Note. No PV is dropped without one.
package migration
