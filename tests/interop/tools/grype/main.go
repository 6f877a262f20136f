// Makes a database of vulnerabilities for tests, with grype's own writer: of the records below DIRECTORY/PROVIDER/results,
// as grype's providers publish them, and as an archive that lies in OUTPUT then.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/OneOfOne/xxhash"
	"github.com/anchore/grype/grype/db"
	"github.com/anchore/grype/grype/db/provider"
	v6 "github.com/anchore/grype/grype/db/v6"
)

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: grype-db DIRECTORY OUTPUT")
	}
	if err := build(os.Args[1], os.Args[2]); err != nil {
		log.Fatal(err)
	}
}

func build(directory, output string) error {
	providers, err := os.ReadDir(directory)
	if err != nil {
		return err
	}
	var states provider.States
	for _, it := range providers {
		state, err := read(filepath.Join(directory, it.Name()), it.Name())
		if err != nil {
			return err
		}
		states = append(states, *state)
	}
	config := db.BuildConfig{
		SchemaVersion: v6.ModelVersion,
		Directory:     output,
		States:        states,
		Timestamp:     time.Now(),
		Hydrate:       true,
	}
	if err := db.Build(config); err != nil {
		return err
	}
	return db.Package(output, "", "tar.gz", nil)
}

// read writes the two files by which a provider says what it has, and reads its state from them.
func read(directory, name string) (*provider.State, error) {
	results, err := filepath.Glob(filepath.Join(directory, "results", "*.json"))
	if err != nil {
		return nil, err
	}
	var listing bytes.Buffer
	for _, path := range results {
		content, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&listing, "%x  results/%s\n", xxhash.Checksum64(content), filepath.Base(path))
	}
	state := provider.State{
		Provider:  name,
		Version:   1,
		Processor: "tests",
		Timestamp: time.Now(),
		Store:     "flat-file",
		Listing: &provider.File{
			Path:      "checksums.xxh64",
			Digest:    fmt.Sprintf("%x", xxhash.Checksum64(listing.Bytes())),
			Algorithm: "xxh64",
		},
	}
	if err := os.WriteFile(filepath.Join(directory, state.Listing.Path), listing.Bytes(), 0o644); err != nil {
		return nil, err
	}
	metadata, err := json.Marshal(state)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(directory, "metadata.json")
	if err := os.WriteFile(path, metadata, 0o644); err != nil {
		return nil, err
	}
	return provider.ReadState(path)
}
