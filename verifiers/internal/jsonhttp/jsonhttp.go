// Package jsonhttp asks servers that speak JSON over HTTP and trusts them with
// nothing: replies are bounded after decompression, redirects are not followed,
// and every failure becomes one of the errors that verifiers share.
package jsonhttp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"plumbline/scorers/entail"
)

// MaxReplyBytes bounds a reply after decompression.
const MaxReplyBytes = 8 << 20

// maxErrorBytes is how much of an error's body is read.
const maxErrorBytes = 64 << 10

// Client asks one server. It is safe for concurrent use.
type Client struct {
	base    *url.URL
	key     string
	timeout time.Duration
	http    *http.Client
}

// New returns a client of the server at base. The key, if there is one, is sent
// as a bearer token; timeout bounds one request.
func New(base *url.URL, key string, timeout time.Duration, connections int) *Client {
	return &Client{
		base:    base,
		key:     key,
		timeout: timeout,
		http: &http.Client{
			Transport: &http.Transport{
				Proxy:                  http.ProxyFromEnvironment,
				ForceAttemptHTTP2:      true,
				MaxIdleConnsPerHost:    connections,
				IdleConnTimeout:        time.Minute,
				MaxResponseHeaderBytes: 64 << 10,
			},
			// Evidence and key go to the server that was configured and to no other.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// Close ends the connections that are not in use.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// StatusError is the cause of the error of a reply whose status is not 2xx.
type StatusError struct {
	// Code is the HTTP status.
	Code int
	// Body is the beginning of the body, to be looked at and never to be shown:
	// servers repeat what they were asked.
	Body []byte
}

// Error implements error.
func (e *StatusError) Error() string {
	return strings.TrimSpace(fmt.Sprintf("HTTP status %d %s", e.Code, http.StatusText(e.Code)))
}

// Get reads path and decodes the reply into out.
func (c *Client) Get(ctx context.Context, path string, out any) error {
	_, err := c.do(ctx, http.MethodGet, path, nil, out)
	return err
}

// Post sends in to path, decodes the reply into out, and returns its header.
// An error is the end of ctx; entail.ErrUnavailable, entail.ErrBusy or
// entail.ErrRejected, around a *StatusError where the server has answered and in
// an *entail.RetryAfter where it has said when; or entail.ErrBadReply.
func (c *Client) Post(ctx context.Context, path string, in, out any) (http.Header, error) {
	body, err := json.Marshal(in)
	if err != nil {
		return nil, err
	}
	return c.do(ctx, http.MethodPost, path, body, out)
}

func (c *Client) do(ctx context.Context, method, path string, body []byte, out any) (http.Header, error) {
	within, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(within, method, c.base.JoinPath(path).String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "application/json")
	request.Header.Set("User-Agent", "plumbline")
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if c.key != "" {
		request.Header.Set("Authorization", "Bearer "+c.key)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, c.lost(ctx, within, err)
	}
	defer response.Body.Close() //nolint:errcheck // it was read as far as it is wanted
	if response.StatusCode/100 != 2 {
		return nil, refusal(response)
	}
	reply, err := io.ReadAll(io.LimitReader(response.Body, MaxReplyBytes+1))
	switch {
	case err != nil:
		return nil, c.lost(ctx, within, err)
	case len(reply) > MaxReplyBytes:
		return nil, fmt.Errorf("%w: it is larger than %d bytes", entail.ErrBadReply, MaxReplyBytes)
	}
	if err := json.Unmarshal(reply, out); err != nil {
		// Not wrapped: the decoder's errors quote the reply.
		return nil, fmt.Errorf("%w: it is not the JSON that was expected", entail.ErrBadReply)
	}
	return response.Header, nil
}

// lost is the error of a request that got no whole reply.
func (c *Client) lost(ctx, within context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case within.Err() != nil:
		return fmt.Errorf("%w: no reply within %v", entail.ErrUnavailable, c.timeout)
	}
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err
	}
	return fmt.Errorf("%w: %w", entail.ErrUnavailable, err)
}

// refusal is the error of a reply whose status is not 2xx.
func refusal(response *http.Response) error {
	// What cannot be read is not needed: the status says enough.
	body, _ := io.ReadAll(io.LimitReader(response.Body, maxErrorBytes))
	err := fmt.Errorf("%w: %w", meaning(response.StatusCode), &StatusError{Code: response.StatusCode, Body: body})
	if after, ok := retryAfter(response.Header.Get("Retry-After")); ok {
		return &entail.RetryAfter{After: after, Err: err}
	}
	return err
}

// meaning maps a status to the errors that verifiers share.
func meaning(status int) error {
	switch {
	case status == http.StatusTooManyRequests:
		return entail.ErrBusy
	case status >= 500 && status != http.StatusNotImplemented,
		status == http.StatusRequestTimeout, status == http.StatusFailedDependency:
		return entail.ErrUnavailable
	default:
		return entail.ErrRejected
	}
}

// retryAfter reads the header of RFC 9110, section 10.2.3: seconds or a date.
func retryAfter(header string) (time.Duration, bool) {
	if seconds, err := strconv.ParseUint(header, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second, true
	}
	if date, err := http.ParseTime(header); err == nil {
		return max(time.Until(date), 0), true
	}
	return 0, false
}
