// Package field lets readers read the history of a field of a PV, such as SR:I.HIHI, as if the field were a PV.
// Units, precision, limits, names of states and the properties of groups are stored as metadata of the PV. A field has
// a sample for each change:
//
//	SR:I.HIHI ─▶ query.Reader ─┬▶ Store:  directory, units ──┬─▶ a PV of this name, if it was ever captured
//	                           └▶ Recent: samples ───────────┴─▶ otherwise the metadata history of SR:I ─▶ Run
//
// Lists of PVs have no fields.
package field
