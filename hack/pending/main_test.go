package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestMethodsAreUpToDate(t *testing.T) {
	root := filepath.Join("..", "..", dir)
	interfaces, err := parse(root)
	if err != nil {
		t.Fatal(err)
	}
	want, err := methods(interfaces)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(root, output))
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("%s/%s is out of date: run make generate", dir, output)
	}
}
