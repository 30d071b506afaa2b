package hub

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"

	"plumbline/models"
)

const (
	// tries is how often a request is made that brings nothing.
	tries = 6
	// muchProgress is how much a request must have brought for the tries to be
	// counted anew: a long download over a bad line gets to its end.
	muchProgress = 1 << 20
	// longestPause bounds what a server may ask for with Retry-After.
	longestPause = 2 * time.Minute
)

// download is one file on its way: the bytes that are there, and how to get the
// others.
type download struct {
	*Puller
	url  string
	want models.File
	part *os.File
	// have is how many bytes of part are there, etag what they are part of.
	have int64
	etag string
	// refused counts how often the server would not go on from there.
	refused int
}

// fetch brings the file to its end and checks its digest. Bytes of an earlier
// run are used.
func (p *Puller) fetch(ctx context.Context, url string, want models.File, root *os.Root, name string) error {
	part, err := root.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	d := &download{Puller: p, url: url, want: want, part: part}
	err = d.run(ctx)
	err = errors.Join(err, part.Close())
	var damaged *damagedError
	if errors.As(err, &damaged) {
		// Bytes of which some are wrong are no help to the next try.
		err = errors.Join(err, root.Remove(name))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", want.Name, err)
	}
	return nil
}

func (d *download) run(ctx context.Context) error {
	size, err := d.part.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	if size > d.want.Bytes {
		if err := d.part.Truncate(0); err != nil {
			return err
		}
		size = 0
	}
	d.have = size
	d.progress(d.have)
	for d.have < d.want.Bytes {
		_, err := backoff.Retry(ctx, func() (struct{}, error) {
			before := d.have
			err := d.request(ctx)
			if err != nil && isTemporary(err) && d.have-before >= muchProgress {
				return struct{}{}, nil
			}
			return struct{}{}, err
		}, d.retryOptions()...)
		if err != nil {
			return err
		}
	}
	return d.verify()
}

func (d *download) verify() error {
	if _, err := d.part.Seek(0, io.SeekStart); err != nil {
		return err
	}
	h := sha256.New()
	if _, err := io.Copy(h, d.part); err != nil {
		return err
	}
	if sum := hex.EncodeToString(h.Sum(nil)); sum != d.want.SHA256 {
		return &damagedError{fmt.Sprintf("what came has sha256 %s, the manifest says %s: it was changed on the way or at its source; pull again", sum, d.want.SHA256)}
	}
	return d.part.Sync()
}

// request asks once for what is missing and keeps what comes.
func (d *download) request(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watch := time.AfterFunc(d.stall(), func() { cancel(errStalled) })
	defer watch.Stop()
	response, err := d.get(ctx, d.url, d.have, d.etag)
	if err != nil {
		return temporary(ctx, err)
	}
	defer func() { _ = response.Body.Close() }()
	if err := d.begin(response); err != nil {
		return err
	}
	return d.receive(ctx, response.Body, func() { watch.Reset(d.stall()) })
}

// begin reads the head of an answer: whether it goes on where the part ends, and
// whether it is the file of the manifest at all.
func (d *download) begin(response *http.Response) error {
	if response.StatusCode == http.StatusRequestedRangeNotSatisfiable {
		// The part is longer than the file there, or of another version. A
		// second time it would be so again.
		d.refused++
		if d.refused > 1 {
			return backoff.Permanent(fmt.Errorf("the server has fewer than the %d bytes of the manifest", d.want.Bytes))
		}
		if err := d.restart(); err != nil {
			return backoff.Permanent(err)
		}
		return errRestarted
	}
	if err := statusError(response); err != nil {
		return err
	}
	total := response.ContentLength
	if response.StatusCode == http.StatusPartialContent {
		start, of, ok := contentRange(response.Header.Get("Content-Range"))
		if !ok || start != d.have {
			return backoff.Permanent(fmt.Errorf("the server answers %q to a request from byte %d on", response.Header.Get("Content-Range"), d.have))
		}
		total = of
	} else if d.have > 0 { // it does not know ranges, or has another version
		if err := d.restart(); err != nil {
			return backoff.Permanent(err)
		}
	}
	if linked, err := strconv.ParseInt(response.Header.Get("X-Linked-Size"), 10, 64); err == nil {
		total = linked
	}
	if total >= 0 && total != d.want.Bytes {
		return backoff.Permanent(fmt.Errorf("the server has %d bytes, the manifest says %d: it is another version", total, d.want.Bytes))
	}
	d.etag = response.Header.Get("ETag")
	if sum, ok := digestOf(cmp.Or(response.Header.Get("X-Linked-Etag"), d.etag)); ok && sum != d.want.SHA256 {
		return backoff.Permanent(fmt.Errorf("the server has sha256 %s, the manifest says %s: it is another version", sum, d.want.SHA256))
	}
	return nil
}

func (d *download) restart() error {
	d.progress(-d.have)
	d.have, d.etag = 0, ""
	return d.part.Truncate(0)
}

// receive keeps a body, one byte more than the manifest's at most, to notice
// that there are more.
func (d *download) receive(ctx context.Context, body io.Reader, alive func()) error {
	if _, err := d.part.Seek(d.have, io.SeekStart); err != nil {
		return backoff.Permanent(err)
	}
	buffer := make([]byte, 256<<10)
	for {
		n, err := body.Read(buffer)
		if n > 0 {
			alive()
			if d.have+int64(n) > d.want.Bytes {
				return backoff.Permanent(&damagedError{fmt.Sprintf("the server sends more than the %d bytes of the manifest", d.want.Bytes)})
			}
			if _, err := d.part.Write(buffer[:n]); err != nil {
				return backoff.Permanent(err)
			}
			d.have += int64(n)
			d.progress(int64(n))
		}
		switch {
		case errors.Is(err, io.EOF) && d.have == d.want.Bytes:
			return nil
		case errors.Is(err, io.EOF):
			return temporary(ctx, fmt.Errorf("the server ended after %d of %d bytes", d.have, d.want.Bytes))
		case err != nil:
			return temporary(ctx, err)
		}
	}
}

// damagedError is a file that is not the manifest's.
type damagedError struct{ text string }

// Error implements error.
func (e *damagedError) Error() string { return e.text }

// temporaryError is a failure that may pass.
type temporaryError struct{ error }

// Unwrap implements the interface of package errors.
func (e temporaryError) Unwrap() error { return e.error }

var (
	errStalled   = errors.New("no byte came for too long")
	errRestarted = temporaryError{errors.New("the server refuses to go on with what is here; beginning anew")}
)

// temporary marks a failure of the line. The end of the caller's context is
// none, that by the watch is one.
func temporary(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		if !errors.Is(cause, errStalled) {
			return backoff.Permanent(cause)
		}
		err = errStalled
	}
	var permanent *backoff.PermanentError
	if errors.As(err, &permanent) || errors.Is(err, errInsecure) {
		return backoff.Permanent(err)
	}
	return temporaryError{err}
}

func isTemporary(err error) bool {
	var t temporaryError
	return errors.As(err, &t)
}

// statusError turns a status that brings no file into an error that says what to
// do.
func statusError(response *http.Response) error {
	status := fmt.Errorf("the server says %s", response.Status)
	switch code := response.StatusCode; {
	case code == http.StatusOK || code == http.StatusPartialContent:
		return nil
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		return backoff.Permanent(fmt.Errorf("%w: the model needs a token of somebody who may read it", status))
	case code == http.StatusNotFound || code == http.StatusGone:
		return backoff.Permanent(fmt.Errorf("%w: %w", status, fs.ErrNotExist))
	case code == http.StatusTooManyRequests || code == http.StatusServiceUnavailable:
		if seconds, err := strconv.Atoi(response.Header.Get("Retry-After")); err == nil && seconds > 0 {
			return errors.Join(temporaryError{status}, backoff.RetryAfter(min(seconds, int(longestPause.Seconds()))))
		}
		return temporaryError{status}
	case code == http.StatusRequestTimeout || code >= 500:
		return temporaryError{status}
	default:
		return backoff.Permanent(status)
	}
}

// contentRange reads "bytes START-END/TOTAL"; of is −1 if the total is unknown.
func contentRange(header string) (start, of int64, ok bool) {
	spec, found := strings.CutPrefix(header, "bytes ")
	if !found {
		return 0, 0, false
	}
	positions, total, _ := strings.Cut(spec, "/")
	first, _, _ := strings.Cut(positions, "-")
	start, err := strconv.ParseInt(first, 10, 64)
	if err != nil {
		return 0, 0, false
	}
	of = -1
	if n, err := strconv.ParseInt(total, 10, 64); err == nil {
		of = n
	}
	return start, of, true
}

// digestOf reads an entity tag that is a SHA-256, as hubs have for large files.
func digestOf(etag string) (string, bool) {
	sum := strings.ToLower(strings.Trim(strings.TrimPrefix(etag, "W/"), `"`))
	data, err := hex.DecodeString(sum)
	return sum, err == nil && len(data) == sha256.Size
}
