package hub

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"regexp"
	"strings"
)

// DefaultBase is the hub of sources that name none.
const DefaultBase = "https://huggingface.co"

// defaultRevision is the branch of a hub's repository.
const defaultRevision = "main"

// Source is where a model's files are.
type Source struct {
	// URL is the folder: a file's name is appended to its path.
	URL *url.URL
	// Name is the name under which the model is kept unless another is given.
	Name string
}

// part is one element of a model's name or of a repository's.
var part = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// ParseSource reads OWNER/NAME[@REVISION], a repository of the hub at base, or
// the URL of a folder.
func ParseSource(text, base string) (Source, error) {
	if strings.Contains(text, "://") {
		return parseFolder(text)
	}
	repository, revision, _ := strings.Cut(text, "@")
	if revision == "" {
		revision = defaultRevision
	}
	owner, name, found := strings.Cut(repository, "/")
	if !found || !part.MatchString(owner) || !part.MatchString(name) || !isRevision(revision) {
		return Source{}, fmt.Errorf("%q is neither OWNER/NAME, OWNER/NAME@REVISION nor the URL of a folder", text)
	}
	u, err := parseURL(base)
	if err != nil {
		return Source{}, fmt.Errorf("the hub's address: %w", err)
	}
	// A revision may have a slash, which is part of its name.
	return Source{URL: u.JoinPath(owner, name, "resolve", url.PathEscape(revision)), Name: owner + "/" + name}, nil
}

// isRevision refuses what would lead out of the repository's path.
func isRevision(text string) bool {
	for element := range strings.SplitSeq(text, "/") {
		if !part.MatchString(element) {
			return false
		}
	}
	return true
}

func parseFolder(text string) (Source, error) {
	u, err := parseURL(text)
	if err != nil {
		return Source{}, err
	}
	name := path.Base(strings.TrimSuffix(u.Path, "/"))
	if !part.MatchString(name) {
		name = "" // to be given
	}
	return Source{URL: u, Name: name}, nil
}

func parseURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, errors.New("is no URL")
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, fmt.Errorf("%s: must begin with https:// or http:// and a host", u.Redacted())
	case u.User != nil:
		return nil, fmt.Errorf("%s: give credentials as a token, not in the URL", u.Redacted())
	case u.RawQuery != "" || u.Fragment != "":
		return nil, fmt.Errorf("%s: must be a folder, without ? and #", u.Redacted())
	}
	return u, nil
}

// file is the URL of one of the source's files.
func (s Source) file(name string) string { return s.URL.JoinPath(name).String() }

// checkName says whether a model can be kept under a name: one or two elements
// that are plain on every system.
func checkName(name string) error {
	elements := strings.Split(name, "/")
	for _, e := range elements {
		if len(elements) > 2 || !part.MatchString(e) || len(e) > 128 {
			return fmt.Errorf("%q is no model's name: letters, digits, points, dashes and underscores, with at most one slash between", name)
		}
	}
	return nil
}
