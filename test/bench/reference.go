package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// clients holds the paths of programs that only subscribe to PVs and count events: with libca,
// with PVXS, and with Varve's own clients. The programs take the same arguments and print the
// same lines.
type clients struct {
	python             string // interpreter with the packages of the IOC and the libraries
	libca, pvxs, varve string
}

// buildClients builds the programs. It links them with the libraries in the Python packages of
// EPICS.
func buildClients(ctx context.Context, dir string) (c clients, err error) {
	out, err := exec.CommandContext(ctx, "hack/venv.sh", "epics").Output()
	if err != nil {
		return c, fmt.Errorf("creating the EPICS environment: %w", err)
	}
	lines := strings.Fields(string(out))
	c.python = lines[len(lines)-1]
	out, err = exec.CommandContext(ctx, c.python, "-c",
		"import epicscorelibs, pvxslibs, os; print(os.path.dirname(epicscorelibs.__file__), os.path.dirname(pvxslibs.__file__))").Output()
	if err != nil {
		return c, fmt.Errorf("finding the EPICS libraries: %w", err)
	}
	places := strings.Fields(string(out))
	base, pvxs := places[0], places[1]
	c.libca, c.pvxs, c.varve = filepath.Join(dir, "reference-ca"), filepath.Join(dir, "reference-pva"), filepath.Join(dir, "reference-varve")
	include := []string{
		"-O2", "-I" + base + "/include", "-I" + base + "/include/os/Linux", "-I" + base + "/include/compiler/gcc", "-I" + pvxs + "/include",
		"-D_GLIBCXX_USE_CXX11_ABI=0", // the libraries were built with this ABI
	}
	link := []string{"-Wl,-rpath," + base + "/lib", "-Wl,-rpath," + pvxs + "/lib", "-Wl,-rpath-link," + pvxs + "/lib"}
	ca, com, px := libraries(base, "libca"), libraries(base, "libCom"), libraries(pvxs, "libpvxs")
	for _, cmd := range [][]string{
		append(append([]string{"gcc", "test/bench/reference/ca.c", "-o", c.libca}, append(include, ca, com)...), link...),
		append(append([]string{"g++", "-std=c++17", "test/bench/reference/pva.cpp", "-o", c.pvxs}, append(include, px, com)...), link...),
		{"go", "build", "-o", c.varve, "./test/bench/reference/varve"},
	} {
		if out, err := exec.CommandContext(ctx, cmd[0], cmd[1:]...).CombinedOutput(); err != nil {
			return c, fmt.Errorf("building %s: %w\n%s", cmd[1], err, out)
		}
	}
	return c, nil
}

// libraries returns the path of a shared library, with the version in its name, because the
// linker records that name.
func libraries(dir, name string) string {
	found, _ := filepath.Glob(filepath.Join(dir, "lib", name+".so.*"))
	if len(found) == 0 {
		return filepath.Join(dir, "lib", name+".so")
	}
	return found[0]
}

// counted holds the numbers that a client program printed.
type counted struct {
	connected float64 // seconds until all PVs were connected; 0 if some were not
	events    float64
	cpu       float64 // µs
}

// runClient runs a client program that subscribes to count PVs for the given number of
// seconds.
func runClient(ctx context.Context, env []string, program, format string, count, seconds int, provider string) (r counted, err error) {
	args := []string{format, strconv.Itoa(count), strconv.Itoa(seconds)}
	if strings.HasSuffix(program, "varve") {
		args = append(args, provider)
	}
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append(os.Environ(), env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return r, fmt.Errorf("running %s: %w\n%s", filepath.Base(program), err, stderr.Bytes())
	}
	for sc := bufio.NewScanner(bytes.NewReader(out)); sc.Scan(); {
		name, text, _ := strings.Cut(sc.Text(), " ")
		v, _ := strconv.ParseFloat(text, 64)
		switch name {
		case "connected_s":
			r.connected = v
		case "events":
			r.events = v
		case "cpu_us":
			r.cpu = v
		}
	}
	return r, nil
}
