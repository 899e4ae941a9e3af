"""Libraries of ours that a server is started with."""

import os
import subprocess

from server import Server


def build(name, directory):
    """Compile NAME.c beside this file; returns the library."""
    library = os.path.join(directory, name + '.so')
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), name + '.c')
    subprocess.run(['gcc', '-shared', '-fPIC', '-O2', '-o', library, source, '-ldl'], check=True)
    return library


class PreloadServer(Server):
    def launch(self):
        log = open(self.log, 'a')
        self.process = subprocess.Popen(
            [os.path.join(self.bindir, 'postgres'), '-D', self.data], stdin=subprocess.DEVNULL,
            stdout=log, stderr=log, env=dict(os.environ, **self.environment()))
        log.close()
