"""A command whose standard error is a terminal."""
import errno
import os
import pty
import subprocess
import threading


def run_on_terminal(words, timeout=60):
    """(exit status, what went into the pipe of standard output, what the terminal was sent)."""
    master, slave = pty.openpty()
    sent = bytearray()

    def read():
        while True:
            try:
                data = os.read(master, 65536)
            except OSError as error:  # the other side is closed
                if error.errno != errno.EIO:
                    raise
                return
            if not data:
                return
            sent.extend(data)
    with subprocess.Popen(list(map(str, words)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=slave) as process:
        os.close(slave)
        reader = threading.Thread(target=read)
        reader.start()
        try:
            out, _ = process.communicate(timeout=timeout)
        finally:
            process.kill()
            reader.join()
            os.close(master)
    return process.returncode, out.decode(), sent.decode()
