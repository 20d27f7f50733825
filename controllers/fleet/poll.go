package fleet

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/cluster/report"
)

const (
	// reportInterval is how often the operator requests reports from engines.
	reportInterval = 10 * time.Second
	// reportTimeout is how long an engine may take to answer. reportsAtOnce is the maximum
	// number of requests at a time.
	reportTimeout = 3 * time.Second
	reportsAtOnce = 16
	// reportKept is how long a report counts: three intervals, plus the time of the requests.
	reportKept = 35 * time.Second
	// reportSize is the largest body. The report of 4,096 shards and of 1,000 groups with
	// 20 problematic channels each is smaller.
	reportSize = 16 << 20
)

// pollReports requests a report from each engine once.
func (f *Fleet) pollReports(ctx context.Context) {
	pods, err := f.pods(ctx)
	if err != nil {
		f.cfg.Log.Error(err, "listing pods of engines failed")
		return
	}
	var g errgroup.Group
	g.SetLimit(reportsAtOnce)
	for i := range pods {
		if pods[i].Status.PodIP != "" {
			g.Go(func() error { f.pollReport(ctx, &pods[i]); return nil })
		}
	}
	_ = g.Wait() // its functions return no errors
	f.clients.keep(pods)
	f.mu.Lock()
	archivers := f.archiversLocked()
	f.mu.Unlock()
	for _, archiver := range archivers {
		f.reports.Wake(archiver)
	}
}

// pollReport requests the report of one engine. An engine that does not answer is not dead,
// because only its Lease decides that.
func (f *Fleet) pollReport(ctx context.Context, pod *corev1.Pod) {
	ctx, cancel := context.WithTimeout(ctx, reportTimeout)
	defer cancel()
	r, err := f.cfg.Fetch(ctx, pod)
	if err == nil && r.Engine != pod.Name {
		err = fmt.Errorf("%s answers as engine %q", pod.Status.PodIP, r.Engine) // the address now belongs to another pod
	}
	if err != nil {
		f.metrics.reportFailures.Inc()
		f.cfg.Log.V(1).Info("engine does not report", "namespace", pod.Namespace, "engine", pod.Name, "err", err.Error())
		return
	}
	f.mu.Lock()
	e := f.knownLocked(client.ObjectKeyFromObject(pod), pod.Labels[v1alpha1.LabelArchiver])
	drainingChanged := (e.report != nil && e.report.Draining) != r.Draining
	e.report, e.reported = r, time.Now()
	archiver := e.archiver
	f.mu.Unlock()
	if drainingChanged {
		f.changes.Wake(archiver)
	}
}

// internalPort returns the port of an engine's report.
func internalPort(pod *corev1.Pod) int32 {
	for i := range pod.Spec.Containers {
		for _, p := range pod.Spec.Containers[i].Ports {
			if p.Name == report.PortName {
				return p.ContainerPort
			}
		}
	}
	return report.Port
}

// fetch gets and decodes a report.
func fetch(ctx context.Context, c *http.Client, url string) (*report.Report, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	resp, err := c.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("requesting %s: %s", url, resp.Status)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, reportSize+1))
	if err != nil {
		return nil, fmt.Errorf("reading the report of %s: %w", url, err)
	}
	if len(body) > reportSize {
		return nil, fmt.Errorf("the report of %s has more than %d bytes", url, reportSize)
	}
	var r report.Report
	if err := json.Unmarshal(body, &r); err != nil {
		return nil, fmt.Errorf("reading the report of %s: %w", url, err)
	}
	return &r, nil
}

// keys returns the members of a set.
func keys(set map[types.NamespacedName]bool) []types.NamespacedName {
	return slices.Collect(maps.Keys(set))
}
