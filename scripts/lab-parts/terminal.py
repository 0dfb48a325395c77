"""lab shell: this terminal joined to a shell in a guest through its third serial line."""
import fcntl
import os
import select
import socket
import struct
import sys
import termios
import time
import tty

from pair import Pair
from provision import say


def _join(pair, side):
    line = socket.socket(socket.AF_UNIX)
    line.connect(str(pair.folder / f"terminal-{side}"))
    return line


def _relay(line, job):
    """Bytes both ways until the shell ends."""
    while True:
        ready, _, _ = select.select([line, sys.stdin], [], [], 0.2)
        if line in ready:
            data = line.recv(4096)
            if not data:
                return
            os.write(sys.stdout.fileno(), data)
        if sys.stdin in ready:
            data = os.read(sys.stdin.fileno(), 256)
            if not data:
                return
            line.sendall(data)
        if job.exit_code() is not None and not ready:
            return


def shell(name, side, options):
    """Opens a shell in a host of pair `name`; boots the pair first, and ends it then, when it is not up."""
    pair = Pair(name)
    mine = not pair.is_up()
    if mine:
        pair.up(accel=options.accel, mtu=options.mtu, netem=options.netem)
    try:
        terminal = sys.stdin.isatty()
        rows, columns = 24, 80
        if terminal:
            rows, columns, _, _ = struct.unpack("HHHH", fcntl.ioctl(0, termios.TIOCGWINSZ, b"\0" * 8))
        say(f"host {side}. The other one: `scripts/lab exec --name {name} {'b' if side == 'a' else 'a'} COMMAND` "
            f"in another terminal. Results: {pair.out}. Leave with exit or Ctrl-D.")
        line = _join(pair, side)
        # The job leads its session: the line it opens becomes its controlling terminal.
        command = (f"stty -F /dev/ttyS2 sane rows {rows or 24} cols {columns or 80}; "
                   "exec bash -i < /dev/ttyS2 > /dev/ttyS2 2>&1")
        job = pair.start(side, command, env={"PS1": f"lab-{side}:\\w# ", "HISTFILE": ""})
        before = termios.tcgetattr(0) if terminal else None
        try:
            if terminal:
                tty.setraw(0)
            _relay(line, job)
        finally:
            if terminal:
                termios.tcsetattr(0, termios.TCSADRAIN, before)
            line.close()
        if job.exit_code() is None:
            time.sleep(0.3)
            job.stop()
        return job.exit_code() or 0
    finally:
        if mine:
            pair.down()
