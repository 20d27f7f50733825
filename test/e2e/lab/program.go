package lab

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"varve.dev/varve/test/checkout"
)

// Run runs a program and returns its standard output.
func Run(name string, args ...string) (string, error) { return Feed("", name, args...) }

// Feed runs a program with the given standard input and returns its standard output.
func Feed(input, name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	if name == "helm" {
		name = helmBinary()
	}
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdin = strings.NewReader(input)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stdout.String(), fmt.Errorf("%s %s: %w\n%s", filepath.Base(name), strings.Join(args, " "), err, stderr.String())
	}
	return stdout.String(), nil
}

// helmBinary returns the path in the environment variable HELM, or the path of the helm that
// hack/tools.sh installs.
func helmBinary() string {
	if path := os.Getenv("HELM"); path != "" {
		return path
	}
	out, err := exec.Command(checkout.Path("hack/tools.sh"), "helm").Output()
	Expect(err).NotTo(HaveOccurred(), "installing helm")
	return strings.TrimSpace(string(out))
}

// Helm runs helm and returns its output. It fails the spec if helm fails.
func Helm(args ...string) string {
	GinkgoHelper()
	out, err := Run("helm", args...)
	Expect(err).NotTo(HaveOccurred())
	return out
}

// Kubectl runs kubectl and returns its output. It fails the spec if kubectl fails.
func Kubectl(args ...string) string {
	GinkgoHelper()
	out, err := Run("kubectl", args...)
	Expect(err).NotTo(HaveOccurred())
	return out
}

// Apply applies manifests in a namespace with kubectl.
func Apply(namespace, manifests string) {
	GinkgoHelper()
	_, err := Feed(manifests, "kubectl", "apply", "-n", namespace, "-f", "-")
	Expect(err).NotTo(HaveOccurred())
}

// Show runs kubectl and adds its output to the report.
func Show(args ...string) {
	GinkgoHelper()
	AddReportEntry("kubectl "+strings.Join(args, " "), "\n"+Kubectl(args...), ReportEntryVisibilityAlways)
}

// Figure adds a measurement to the report.
func Figure(name, format string, args ...any) {
	AddReportEntry(name, fmt.Sprintf(format, args...), ReportEntryVisibilityAlways)
}

// ClusterScript runs hack/cluster/cluster.sh. Specs labelled bare use it to stop parts of the
// cluster.
func ClusterScript(args ...string) {
	GinkgoHelper()
	_, err := Run(checkout.Path("hack/cluster/cluster.sh"), args...)
	Expect(err).NotTo(HaveOccurred())
}
