//go:build unix

package spawn

import (
	"errors"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// drainTime is how long output may come after the process has ended, from
// processes that left its group and still hold its pipes.
const drainTime = 2 * time.Second

// errGone: what listened on the socket has ended since.
var errGone = errors.New("what listened on its socket has ended")

// process is a command that leads a process group of its own.
type process struct {
	cmd            *exec.Cmd
	stdout, stderr *lines
	ended          chan struct{} // closed when the process is gone and its group is swept

	mu     sync.Mutex
	reaped bool // its id may be another's
}

// startProcess starts the command.
func startProcess(cmd *exec.Cmd, out *output) (*process, error) {
	p := &process{
		cmd:    cmd,
		stdout: &lines{take: out.stdout},
		stderr: &lines{take: out.stderr},
		ended:  make(chan struct{}),
	}
	cmd.SysProcAttr = attributes()
	cmd.WaitDelay = drainTime
	cmd.Stdout, cmd.Stderr = p.stdout, p.stderr
	// Its end tells processes that the kernel does not kill that we are gone.
	if _, err := cmd.StdinPipe(); err != nil {
		return nil, err
	}
	started := make(chan error)
	go p.run(started)
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// run starts the command and waits for it in one thread: the kernel takes the
// death of the thread that started a process for the death of its parent
// (PR_SET_PDEATHSIG, prctl(2)), and the runtime ends idle threads.
func (p *process) run(started chan<- error) {
	defer close(p.ended)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := p.cmd.Start()
	started <- err
	if err != nil {
		return
	}
	p.await()
	p.stdout.flush()
	p.stderr.flush()
}

// sweep kills what is left of the group, for the last time.
func (p *process) sweep() {
	p.signal(syscall.SIGKILL)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reaped = true
}

// signal signals the whole group.
func (p *process) signal(signal syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.reaped {
		_ = syscall.Kill(-p.pid(), signal) // ESRCH: it is gone already
	}
}

// stop asks the group to end and kills it after the grace period.
func (p *process) stop(grace time.Duration) {
	p.signal(syscall.SIGTERM)
	select {
	case <-p.ended:
	case <-time.After(grace):
		p.signal(syscall.SIGKILL)
		<-p.ended
	}
}

// pid is the id of the process and of its group.
func (p *process) pid() int { return p.cmd.Process.Pid }

// outcome says how the process ended; valid once it has.
func (p *process) outcome() string { return p.cmd.ProcessState.String() }
