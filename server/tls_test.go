package server_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"plumbline/internal/testwait"
	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/server"
	"plumbline/server/config"
)

// authority is a certificate authority with one certificate for a server.
type authority struct {
	t           *testing.T
	dir         string
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	pool        *x509.CertPool
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{t: t, dir: t.TempDir(), pool: x509.NewCertPool()}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	a.key = a.newKey()
	der, err := x509.CreateCertificate(rand.Reader, template, template, &a.key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	if a.certificate, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	a.pool.AddCert(a.certificate)
	a.write("ca.pem", "CERTIFICATE", der)
	a.issue("server", 2)
	return a
}

func (a *authority) newKey() *ecdsa.PrivateKey {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	return key
}

func (a *authority) write(name, kind string, der []byte) {
	a.t.Helper()
	text := pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
	if err := os.WriteFile(filepath.Join(a.dir, name), text, 0o600); err != nil {
		a.t.Fatal(err)
	}
}

// issue writes name.pem and name.key.
func (a *authority) issue(name string, serial int64) tls.Certificate {
	a.t.Helper()
	key := a.newKey()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, &key.PublicKey, a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	a.write(name+".pem", "CERTIFICATE", der)
	a.write(name+".key", "EC PRIVATE KEY", keyDER)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func (a *authority) files() config.TLS {
	return config.TLS{CertFile: filepath.Join(a.dir, "server.pem"), KeyFile: filepath.Join(a.dir, "server.key")}
}

func (a *authority) client(certificates ...tls.Certificate) *tls.Config {
	return &tls.Config{RootCAs: a.pool, Certificates: certificates, MinVersion: tls.VersionTLS12}
}

func TestMutualTLSAsksForACertificate(t *testing.T) {
	pki := newAuthority(t)
	cfg := settings()
	files := pki.files()
	files.ClientCAFile = filepath.Join(pki.dir, "ca.pem")
	cfg.GRPC.TLS, cfg.HTTP.TLS = files, files
	r := run(t, cfg, server.Options{Engine: overlap()})

	r.tls = pki.client(pki.issue("client", 3))
	for _, c := range everywhere[plumblinev1.ScoreRetrievalRequest, plumblinev1.ScoreRetrievalResponse](r, scoreRetrieval) {
		if _, err := c.call(t.Context(), retrievalRequest()); err != nil {
			t.Errorf("%s with a certificate: %v", c.name, err)
		}
	}
	stranger := newAuthority(t).issue("stranger", 4)
	for name, client := range map[string]*tls.Config{"none": pki.client(), "a stranger's": pki.client(stranger)} {
		r.tls = client
		for _, c := range everywhere[plumblinev1.ScoreRetrievalRequest, plumblinev1.ScoreRetrievalResponse](r, scoreRetrieval) {
			if _, err := c.call(t.Context(), retrievalRequest()); err == nil {
				t.Errorf("%s with %s certificate is served", c.name, name)
			}
		}
	}
}

// TestCertificatesFollowTheirFiles swaps the server's certificate.
func TestCertificatesFollowTheirFiles(t *testing.T) {
	pki := newAuthority(t)
	cfg := settings()
	cfg.GRPC.TLS, cfg.HTTP.TLS = pki.files(), pki.files()
	r := run(t, cfg, server.Options{Engine: overlap()})
	r.tls = pki.client()
	serial := func(addr net.Addr) int64 {
		client := r.tls.Clone()
		client.NextProtos = []string{"h2"}
		conn, err := tls.Dial("tcp", addr.String(), client)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		return conn.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
	}
	for _, addr := range []net.Addr{r.GRPCAddr(), r.HTTPAddr()} {
		if got := serial(addr); got != 2 {
			t.Fatalf("serial %d", got)
		}
	}
	pki.issue("server", 5)
	for _, addr := range []net.Addr{r.GRPCAddr(), r.HTTPAddr()} {
		testwait.For(t, "the new certificate", func() bool { return serial(addr) == 5 })
	}
}
