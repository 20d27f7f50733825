package main

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"varve.dev/varve/engine/ca"
	"varve.dev/varve/engine/client/clienttest"
	"varve.dev/varve/engine/spool"
)

// standalonePolicy gives the PVs P20:VAC: to the group vacuum. Tests replace READERS.
const standalonePolicy = `apiVersion: varve.dev/v1alpha1
kind: ArchivePolicy
metadata: {name: vacuum}
spec: {archiverRef: {name: main}, prefixes: ["P20:VAC:"], owners: {archiveGroups: [vacuum]}, readers: READERS}
`

// TestStandaloneAppliesPolicies checks who archives and who reads, before and after an edit of the file.
func TestStandaloneAppliesPolicies(t *testing.T) {
	g := NewWithT(t)
	dir := t.TempDir()
	group := func(name, pvs string) string {
		return "{apiVersion: varve.dev/v1alpha1, kind: ArchiveGroup, metadata: {name: " + name + "}, spec: {archiverRef: {name: main}, channels: [" + pvs + "]}}\n---\n"
	}
	groups := writeFile(t, dir, "groups.yaml", group("vacuum", "{name: 'P20:VAC:P'}")+group("magnets", "{name: 'P20:MAG:I'}, {name: 'P20:VAC:STOLEN'}"))
	policies := writeFile(t, dir, "policies.yaml", strings.Replace(standalonePolicy, "READERS", "{users: [ann]}", 1))
	options := func() *standaloneOptions {
		return &standaloneOptions{
			pipelineOptions: pipelineOptions{
				storage: storageOptions{dir: dir + "/data"}, memory: 64 << 20, spoolSize: spool.MinSize, flush: 50 * time.Millisecond, checkpoint: time.Minute,
				ca: ca.Config{Config: clienttest.ByUDP("127.0.0.1:1")},
			},
			file: groups, listen: "127.0.0.1:0", policies: policies, log: slog.New(slog.DiscardHandler),
		}
	}
	s, err := openStandalone(t.Context(), options())
	g.Expect(err).NotTo(HaveOccurred())
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.run(ctx) }()
	get := func(path string) func() string {
		return func() string {
			w := httptest.NewRecorder()
			s.handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://127.0.0.1"+path, http.NoBody))
			return w.Body.String()
		}
	}
	names := get("/api/v1/names?pv=P20:*")
	g.Eventually(names).WithTimeout(2 * time.Minute).Should(ContainSubstring("P20:MAG:I"))
	g.Expect(names()).NotTo(ContainSubstring("P20:VAC:"), "the policy hides them from anonymous readers")

	writeFile(t, dir, "policies.yaml", strings.Replace(standalonePolicy, "READERS", "{everybody: true}", 1))
	g.Eventually(names).WithTimeout(2 * time.Minute).Should(ContainSubstring("P20:VAC:P"))
	g.Expect(names()).NotTo(ContainSubstring("STOLEN"), "the group magnets does not own it")
	writeFile(t, dir, "policies.yaml", "kind: [")
	for _, path := range []string{"/readyz", "/api/v1/status"} {
		g.Eventually(get(path)).WithTimeout(2*time.Minute).Should(ContainSubstring("the file of ArchivePolicies is missing or invalid"), path)
	}
	g.Expect(get("/metrics")()).To(ContainSubstring("\nvarve_policies_invalid 1\n"))
	stop()
	g.Expect(<-ended).To(Succeed())

	_, err = openStandalone(t.Context(), options())
	g.Expect(err).To(MatchError(HavePrefix("--policies: ")), "a start with a wrong file")
}
