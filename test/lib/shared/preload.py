"""Servers that are started with a library of ours (LD_PRELOAD)."""

import os
import subprocess

from server import Server


def build(source, directory):
    """Compile it; returns the library."""
    library = os.path.join(directory, os.path.basename(source)[:-2] + '.so')
    subprocess.run(['gcc', '-shared', '-fPIC', '-O2', '-o', library, source, '-ldl'], check=True)
    return library


class PreloadServer(Server):
    SOURCE = None                   # of the library
    library = None

    def __init__(self, bindir, directory, *rest):
        super().__init__(bindir, directory, *rest)
        if self.library is None:
            type(self).library = build(self.SOURCE, directory)

    def environment(self):
        """What the library is told."""
        return {}

    def launch(self):
        log = open(self.log, 'a')
        self.process = subprocess.Popen(
            [os.path.join(self.bindir, 'postgres'), '-D', self.data], stdin=subprocess.DEVNULL,
            stdout=log, stderr=log, env=dict(os.environ, LD_PRELOAD=self.library, **self.environment()))
        log.close()
