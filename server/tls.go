package server

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"time"

	"google.golang.org/grpc/credentials/tls/certprovider/pemfile"

	"plumbline/server/config"
)

// certificateRefresh is how often the PEM files are looked at again.
const certificateRefresh = 5 * time.Second

// newTLS returns the configuration of a listener whose certificates follow
// their files, and what to close after use. Files that cannot be used now are
// an error; later ones are kept out and the old certificates stay in use.
func newTLS(t config.TLS, protocols ...string) (*tls.Config, func() error, error) {
	if err := checkFiles(t); err != nil {
		return nil, nil, err
	}
	files, err := pemfile.NewProvider(pemfile.Options{
		CertFile:        t.CertFile,
		KeyFile:         t.KeyFile,
		RootFile:        t.ClientCAFile,
		RefreshDuration: certificateRefresh,
	})
	if err != nil {
		return nil, nil, err
	}
	base := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: protocols}
	current := base.Clone()
	current.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		material, err := files.KeyMaterial(handshake(hello))
		if err != nil {
			return nil, err
		}
		cfg := base.Clone()
		cfg.Certificates = material.Certs
		if t.ClientCAFile != "" {
			cfg.ClientCAs, cfg.ClientAuth = material.Roots, tls.RequireAndVerifyClientCert
		}
		return cfg, nil
	}
	return current, func() error { files.Close(); return nil }, nil
}

// handshake is the context of a handshake, which a test's hello lacks.
func handshake(hello *tls.ClientHelloInfo) context.Context {
	if ctx := hello.Context(); ctx != nil {
		return ctx
	}
	return context.Background()
}

func checkFiles(t config.TLS) error {
	if _, err := tls.LoadX509KeyPair(t.CertFile, t.KeyFile); err != nil {
		return fmt.Errorf("certificate and key: %w", err)
	}
	if t.ClientCAFile == "" {
		return nil
	}
	data, err := os.ReadFile(t.ClientCAFile)
	if err != nil {
		return fmt.Errorf("client authorities: %w", err)
	}
	if !x509.NewCertPool().AppendCertsFromPEM(data) {
		return errors.New("client authorities: " + t.ClientCAFile + " has no PEM certificate")
	}
	return nil
}
