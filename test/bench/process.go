package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"varve.dev/varve/test/freeport"
)

// process is a child process that writes its output to a file.
type process struct {
	cmd  *exec.Cmd
	done chan error // receives the result of Wait once, and is then closed
	log  string
}

// start starts a program that writes its output to dir/name.log.
func start(dir, name string, env []string, program string, args ...string) (*process, error) {
	p := &process{cmd: exec.Command(program, args...), done: make(chan error, 1), log: filepath.Join(dir, name+".log")}
	f, err := os.Create(p.log)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	p.cmd.Stdout, p.cmd.Stderr = f, f
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p.cmd.Env = append(os.Environ(), env...)
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	go func() {
		p.done <- p.cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// stop ends the process with SIGTERM. If the process failed, the error has the end of its log.
func (p *process) stop() error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return p.failed(err)
	}
	select {
	case err := <-p.done:
		return p.failed(err)
	case <-time.After(time.Minute):
		_ = p.cmd.Process.Kill()
		return fmt.Errorf("%s does not stop within a minute", p.cmd.Path)
	}
}

// kill kills the process and its children. It may be called more than once.
func (p *process) kill() error {
	err := syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	<-p.done
	if errors.Is(err, syscall.ESRCH) {
		return nil // the process no longer exists
	}
	return err
}

func (p *process) failed(err error) error {
	if err == nil {
		return nil
	}
	text, _ := os.ReadFile(p.log)
	return fmt.Errorf("%s: %w\n%s", strings.Join(p.cmd.Args, " "), err, text[max(0, len(text)-2000):])
}

// freeAddr returns a loopback address with a port that is free.
func freeAddr() (string, error) {
	port, err := freeport.Find("127.0.0.1")
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), err
}

// metrics holds values by the name of the metric, with its labels.
type metrics map[string]float64

// scrape reads the metrics of an archiver.
func scrape(ctx context.Context, addr string) (metrics, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+"/metrics", nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	m := metrics{}
	for sc := bufio.NewScanner(resp.Body); sc.Scan(); {
		name, text, ok := strings.Cut(sc.Text(), " ")
		if v, err := strconv.ParseFloat(text, 64); ok && err == nil {
			m[name] = v
		}
	}
	return m, nil
}

// await calls f twice per second until it returns true. It fails after limit.
func await(ctx context.Context, what string, limit time.Duration, f func() bool) error {
	for deadline := time.Now().Add(limit); !f(); {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("not within %v: %s", limit, what)
		}
		time.Sleep(500 * time.Millisecond)
	}
	return nil
}
