// Stands in for every program of an image that cannot be had: it answers the probes of what a chart runs for long, copies
// itself as `cp`, and ends well as anything else. What it is, it knows by its arguments, from a table that lies in its image
// (see images.py).
package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"log"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Role is what one container of a chart is to do.
type Role struct {
	Arguments []string
	Stays     bool
	Ports     []Port
}

// Port is one that a probe asks.
type Port struct {
	Number int
	TLS    bool
}

func main() {
	if filepath.Base(os.Args[0]) == "cp" {
		copyTo(os.Args[len(os.Args)-2], os.Args[len(os.Args)-1])
		return
	}
	role := roleOf(os.Args)
	fmt.Printf("stand-in for %q: %+v\n", os.Args, role)
	if !role.Stays {
		return
	}
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM, syscall.SIGINT)
	for _, port := range role.Ports {
		go serve(port)
	}
	<-ended
}

// copyTo puts the stand-in where a program of another container is looked for.
func copyTo(from, to string) {
	if place, err := os.Stat(to); err == nil && place.IsDir() {
		to = filepath.Join(to, filepath.Base(from))
	}
	program, err := os.ReadFile("/stand-in")
	if err == nil {
		err = os.WriteFile(to, program, 0o755)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// roleOf finds the role whose arguments are most like these: names of pods and addresses of images are others at a site.
func roleOf(arguments []string) Role {
	var table []Role
	text, err := os.ReadFile("/stand-in.json")
	if err == nil {
		err = json.Unmarshal(text, &table)
	}
	if err != nil {
		log.Fatal(err)
	}
	var best Role
	most := 0
	for _, role := range table {
		if equal := likeness(role.Arguments, arguments); equal > most {
			best, most = role, equal
		}
	}
	return best
}

func likeness(known, given []string) int {
	if len(known) != len(given) || known[0] != given[0] {
		return 0
	}
	equal := 0
	for at := range known {
		if known[at] == given[at] {
			equal++
		}
	}
	return equal
}

func serve(port Port) {
	listener, err := net.Listen("tcp", fmt.Sprintf(":%d", port.Number))
	if err != nil {
		// Another container of the pod may have it.
		log.Print(err)
		return
	}
	server := &http.Server{Handler: http.HandlerFunc(answer), Protocols: new(http.Protocols)}
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetUnencryptedHTTP2(true)
	if port.TLS {
		server.TLSConfig = &tls.Config{Certificates: []tls.Certificate{certificate()}}
		log.Print(server.ServeTLS(listener, "", ""))
		return
	}
	log.Print(server.Serve(listener))
}

// answer says yes, to probes by gRPC too.
func answer(to http.ResponseWriter, request *http.Request) {
	if !strings.HasPrefix(request.Header.Get("Content-Type"), "application/grpc") {
		fmt.Fprintln(to, "ok")
		return
	}
	to.Header().Set("Content-Type", "application/grpc")
	to.Header().Set("Trailer", "Grpc-Status")
	// One message of two bytes: field 1 is SERVING.
	to.Write([]byte{0, 0, 0, 0, 2, 8, 1})
	to.Header().Set("Grpc-Status", "0")
}

// certificate makes one that nobody trusts: kubelets ask for none that they could.
func certificate() tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		log.Fatal(err)
	}
	template := x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().AddDate(1, 0, 0)}
	made, err := x509.CreateCertificate(rand.Reader, &template, &template, key.Public(), key)
	if err != nil {
		log.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{made}, PrivateKey: key}
}
