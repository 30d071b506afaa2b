package spawn

import (
	"errors"
	"fmt"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// attributes give the process a group of its own and tie its life to ours.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// await waits for the end of the process. Its group is swept before it is
// reaped: until then no other process or group can have its id.
func (p *process) await() {
	for errors.Is(unix.Waitid(unix.P_PID, p.pid(), nil, unix.WEXITED|unix.WNOWAIT, nil), unix.EINTR) {
	}
	p.sweep()
	_ = p.cmd.Wait() // what there is to know of the end is in ProcessState
}

// checkPeer refuses a listener that is not of our user and of the process group
// that we started.
func checkPeer(conn *net.UnixConn, group int) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	var peer *unix.Ucred
	var asked error
	err = raw.Control(func(fd uintptr) {
		peer, asked = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	})
	if err := errors.Join(err, asked); err != nil {
		return fmt.Errorf("%w: the kernel does not say who: %w", ErrStranger, err)
	}
	theirs, err := unix.Getpgid(int(peer.Pid))
	if errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("%w: %w", ErrNotServing, errGone)
	}
	if err != nil || theirs != group || int(peer.Uid) != unix.Geteuid() {
		return fmt.Errorf("%w: process %d of user %d", ErrStranger, peer.Pid, peer.Uid)
	}
	return nil
}
