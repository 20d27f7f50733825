package main

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"varve.dev/varve/engine/ca"
	"varve.dev/varve/engine/client/clienttest"
	"varve.dev/varve/engine/serve/access"
	"varve.dev/varve/engine/spool"
)

// TestStandaloneCarriesOutRequestsOfScripts sends the calls of a script for the Appliance to a running archive, with a token, and
// checks the manifest, what the archive captures, and the audit log. The script has the order that scripts have: archive, wait for the
// state, alias, change, pause, delete.
func TestStandaloneCarriesOutRequestsOfScripts(t *testing.T) {
	g := NewWithT(t)
	dir := t.TempDir()
	secret, line, err := access.NewToken("ann", []string{"scripts"}, time.Time{})
	g.Expect(err).NotTo(HaveOccurred())
	writeFile(t, dir, "tokens", line+"\n")
	accessFile := writeFile(t, dir, "access.yaml", "access:\n- tokens: {file: tokens}\n- anonymous: {groups: [everybody]}\n")
	groups := filepath.Join(dir, "groups")
	g.Expect(os.Mkdir(groups, 0o755)).To(Succeed())
	const head = "apiVersion: varve.dev/v1alpha1\nkind: ArchiveGroup\nmetadata: {name: scripts}\nspec:\n  archiverRef: {name: main}\n  requests: {groups: [scripts]}\n"
	manifest := writeFile(t, groups, "scripts.yaml", "# for scripts\n"+head)
	writeFile(t, groups, "git.yaml", strings.NewReplacer("name: scripts", "name: git", "requests: {groups: [scripts]}", "channels: [{name: 'R22:GIT'}]").Replace(head))
	s, err := openStandalone(t.Context(), &standaloneOptions{
		pipelineOptions: pipelineOptions{
			storage: storageOptions{dir: dir + "/data"}, memory: 64 << 20, spoolSize: spool.MinSize, flush: 50 * time.Millisecond, checkpoint: time.Minute,
			ca: ca.Config{Config: clienttest.ByUDP("127.0.0.1:1")},
		},
		file: groups, listen: "127.0.0.1:0", access: accessOptions{file: accessFile, audit: dir + "/audit.log"}, log: slog.New(slog.DiscardHandler),
	})
	g.Expect(err).NotTo(HaveOccurred())
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.run(ctx) }()
	call := func(token, call string, parameters ...string) (int, string) {
		t.Helper()
		q := url.Values{}
		for i := 0; i < len(parameters); i += 2 {
			q.Set(parameters[i], parameters[i+1])
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url()+"/mgmt/bpl/"+call+"?"+q.Encode(), http.NoBody)
		g.Expect(err).NotTo(HaveOccurred())
		if token != "" {
			req.SetBasicAuth("", token) // as a user and a password in the URL of a script
		}
		res, err := http.DefaultClient.Do(req)
		g.Expect(err).NotTo(HaveOccurred())
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		g.Expect(err).NotTo(HaveOccurred())
		return res.StatusCode, strings.TrimSpace(string(text))
	}
	ann := func(name string, parameters ...string) string {
		t.Helper()
		code, text := call(secret, name, parameters...)
		g.Expect(code).To(Equal(http.StatusOK), text)
		return text
	}
	status := func(pv string) func() string {
		return func() string {
			var all []struct{ Status string }
			_, text := call(secret, "getPVStatus", "pv", pv)
			if json.Unmarshal([]byte(text), &all) != nil || len(all) != 1 {
				return text
			}
			return all[0].Status
		}
	}
	file := func() string {
		text, err := os.ReadFile(manifest)
		g.Expect(err).NotTo(HaveOccurred())
		return string(text)
	}
	const patience = 2 * time.Minute
	g.Eventually(status("R22:GIT")).WithTimeout(patience).Should(Equal("Initial sampling"))

	code, text := call("", "archivePV", "pv", "R22:A")
	g.Expect(code).To(Equal(http.StatusForbidden), "an anonymous request: %s", text)
	code, text = call(secret, "pauseArchivingPV", "pv", "R22:GIT")
	g.Expect(code).To(Equal(http.StatusForbidden), "a group that accepts no requests")
	g.Expect(text).To(ContainSubstring("ArchiveGroup default/git defines how PV R22:GIT is archived"))
	g.Expect(file()).To(Equal("# for scripts\n" + head))

	g.Expect(ann("archivePV", "pv", "R22:A,R22:B,R22:GIT", "samplingperiod", "5", "samplingmethod", "SCAN")).To(Equal(
		`[{"pvName":"R22:A","status":"Archive request submitted"},{"pvName":"R22:B","status":"Archive request submitted"},{"pvName":"R22:GIT","status":"Already submitted"}]`))
	g.Eventually(status("R22:A")).WithTimeout(patience).Should(Equal("Initial sampling"))
	g.Expect(ann("archivePV", "pv", "R22:A")).To(ContainSubstring("Already submitted"))
	ann("addAlias", "pv", "R22:A", "aliasname", "R22:OTHER")
	ann("changeArchivalParameters", "pv", "R22:A", "samplingperiod", "7")
	ann("changeArchivalParameters", "pv", "R22:B", "samplingperiod", "1", "samplingmethod", "MONITOR")
	g.Eventually(func() string { return ann("getAllAliases") }).WithTimeout(patience).Should(ContainSubstring(`"srcPVName":"R22:A"`))
	ann("pauseArchivingPV", "pv", "R22:OTHER") // by its alias
	g.Eventually(status("R22:A")).WithTimeout(patience).Should(Equal("Paused"))
	g.Expect(ann("pauseArchivingPV", "pv", "R22:A")).To(Equal(`[{"pvName":"R22:A","validation":"PV R22:A is already paused"}]`))
	g.Expect(file()).To(Equal("# for scripts\n" + head +
		"  channels:\n  - {name: 'R22:A', sampling: {mode: Scan, period: 7s}, aliases: ['R22:OTHER'], paused: true}\n  - {name: 'R22:B'}\n"))

	g.Expect(ann("deletePV", "pv", "R22:B")).To(ContainSubstring("We will not stop archiving PV R22:B if it is not paused"))
	g.Expect(ann("abortArchivingPV", "pv", "R22:B")).To(ContainSubstring(`"status":"ok"`))
	ann("resumeArchivingPV", "pv", "R22:A")
	ann("pauseArchivingPV", "pv", "R22:A")
	g.Expect(ann("deletePV", "pv", "R22:A")).To(Equal(`{"status":"ok","validation":""}`))
	g.Eventually(status("R22:A")).WithTimeout(patience).Should(Equal("Not being archived"))
	g.Expect(file()).To(Equal("# for scripts\n" + head + "  channels: []\n"))
	stop()
	g.Expect(<-ended).To(Succeed())
	log, err := os.ReadFile(dir + "/audit.log")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(strings.Count(string(log), `"decision":"changed"`)).To(Equal(9), string(log))
	g.Expect(string(log)).To(ContainSubstring(`"action":"archive","archiveGroup":"default/scripts","pvs":["R22:A","R22:B"]`))
	g.Expect(string(log)).To(ContainSubstring(`"user":"anonymous"`))
}
