package manifesttest

import (
	"strings"

	"varve.dev/varve/api/v1alpha1"
)

// Policies are ArchivePolicies, valid and invalid ones.
func Policies() (all []Case) {
	for _, c := range policies {
		text := "apiVersion: varve.dev/v1alpha1\nkind: ArchivePolicy\nmetadata: {namespace: ops, name: vac}\nspec: {archiverRef: {name: main}, " + c.spec + "}\n"
		all = append(all, Case{Kind: v1alpha1.KindArchivePolicy, Manifest: text, Want: c.want})
	}
	return all
}

const owners = "owners: {archiveGroups: [vacuum, 'vacuum-*'], groups: [vacuum]}"

var policies = []struct{ spec, want string }{
	{"prefixes: ['SR:VAC:', 'BR:VAC:'], " + owners, ""},
	{"prefixes: ['*'], " + owners, ""},
	{"prefixes: ['SR:VAC:'], " + owners + ", readers: {everybody: true}, enforcement: Warn", ""},
	{"prefixes: ['SR:VAC:'], owners: {archiveGroups: [vacuum]}, readers: {groups: [control-room]}", ""},
	{"prefixes: ['SR:VAC:'], owners: {users: ['system:serviceaccount:argocd:a']}", ""},
	{"prefixes: ['SR:VAC:'], owners: {archiveGroups: [vacuum]}", "nobody could read these PVs: set readers, owners.groups or owners.users"},
	{"prefixes: ['SR:VAC:'], readers: {everybody: true}", "spec.owners: Required value"},
	{"prefixes: ['SR:VAC:'], " + owners + ", readers: {}", "readers require groups, users or everybody: true"},
	{"prefixes: ['SR:VAC:'], " + owners + ", readers: {everybody: false}", "readers require groups, users or everybody: true"},
	{owners, "spec.prefixes: Required value"},
	{"prefixes: [], " + owners, "spec.prefixes"},
	{"prefixes: [''], " + owners, "spec.prefixes[0]"},
	{"prefixes: ['SR:', 'SR:'], " + owners, "spec.prefixes[1]: Duplicate value"},
	{"prefixes: ['SR:VAC:*'], " + owners, "a prefix has no wildcards: write SR:VAC: for all PVs that begin so, and * alone for all PVs"},
	{"prefixes: ['SR:?'], " + owners, "a prefix has no wildcards"},
	{"prefixes: ['ca://SR:'], " + owners, "write the beginning of names of records"},
	{"prefixes: ['SR:P.DESC'], " + owners, "write the beginning of names of records"},
	{"prefixes: ['SR: P'], " + owners, "write the beginning of names of records"},
	{"prefixes: ['" + strings.Repeat("S", 257) + "'], " + owners, "spec.prefixes[0]"},
	{"prefixes: ['SR:'], owners: {archiveGroups: ['Vacuum'], groups: [a]}", "spec.owners.archiveGroups[0]"},
	{"prefixes: ['SR:'], owners: {archiveGroups: ['va*m'], groups: [a]}", "spec.owners.archiveGroups[0]"},
	{"prefixes: ['SR:'], owners: {archiveGroups: ['ns/vacuum'], groups: [a]}", "spec.owners.archiveGroups[0]"},
	{"prefixes: ['SR:'], owners: {archiveGroups: ['*', a-b.c, 'a-*'], groups: [a]}", ""},
	{"prefixes: ['SR:'], owners: {groups: ['']}", "spec.owners.groups[0]"},
	{"prefixes: ['SR:'], owners: {groups: ['" + strings.Repeat("ä", 129) + "']}", "names have at most 256 bytes"},
	{"prefixes: ['SR:'], " + owners + ", enforcement: Maybe", `Unsupported value: "Maybe"`},
}
