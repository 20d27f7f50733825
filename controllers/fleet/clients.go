package fleet

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/cluster/identity"
	"varve.dev/varve/cluster/report"
)

// clients get reports by HTTP. Each Archiver has its own client, because its engines must prove by their
// certificates that they belong to it, and the address of a pod can move to a pod of another Archiver.
type clients struct {
	own *identity.Party

	mu sync.Mutex
	of map[engineKind]*http.Client
}

// engineKind is what the engines of one client have in common.
type engineKind struct {
	namespace, archiver string
	tls                 v1alpha1.InternalTLSMode // "": none
}

func newClients(own *identity.Party) *clients {
	return &clients{own: own, of: map[engineKind]*http.Client{}}
}

// kindOf returns what an engine requires. A pod says so itself, because the pods of an Archiver differ during an
// update.
func kindOf(pod *corev1.Pod) engineKind {
	return engineKind{pod.Namespace, pod.Labels[v1alpha1.LabelArchiver], v1alpha1.InternalTLSMode(pod.Annotations[v1alpha1.AnnotationInternalTLS])}
}

// fetch gets the report of the engine in a pod.
func (c *clients) fetch(ctx context.Context, pod *corev1.Pod) (*report.Report, error) {
	via, err := c.client(kindOf(pod))
	if err != nil {
		return nil, err
	}
	return fetch(ctx, via, "http://"+net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(int(internalPort(pod))))+report.Path+"?"+report.ByOperator)
}

// client returns the client for a kind of engines.
func (c *clients) client(of engineKind) (*http.Client, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of[of] == nil {
		transport, err := c.transport(of)
		if err != nil {
			return nil, err
		}
		c.of[of] = &http.Client{Transport: transport}
	}
	return c.of[of], nil
}

// transport returns the transport for a kind of engines. It uses no proxy, because pods are in the same cluster.
func (c *clients) transport(of engineKind) (*http.Transport, error) {
	t := &http.Transport{MaxIdleConnsPerHost: 1, IdleConnTimeout: reportKept}
	switch {
	case of.tls == "", of.tls == v1alpha1.InternalTLSOptional && c.own == nil:
		return t, nil
	case of.tls != v1alpha1.InternalTLSOptional && of.tls != v1alpha1.InternalTLSRequired:
		return nil, fmt.Errorf("the pod has the annotation %s=%s, which this operator does not know; upgrade the operator", v1alpha1.AnnotationInternalTLS, of.tls)
	case c.own == nil:
		return nil, errors.New("the engine requires a certificate, but the operator has none: set internalTLS of the chart varve-operator, or spec.internalTLS.mode of the Archiver to Optional")
	}
	d := &identity.Dialer{
		Party: c.own, Server: identity.Of(of.namespace, of.archiver, v1alpha1.ComponentEngine), Optional: of.tls == v1alpha1.InternalTLSOptional,
	}
	t.DialContext = d.DialContext
	return t, nil
}

// keep drops the clients for engines that are not among these pods.
func (c *clients) keep(pods []corev1.Pod) {
	used := map[engineKind]bool{}
	for i := range pods {
		used[kindOf(&pods[i])] = true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for of, via := range c.of {
		if !used[of] {
			via.CloseIdleConnections()
			delete(c.of, of)
		}
	}
}
