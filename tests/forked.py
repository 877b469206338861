"""Processes that start with numba imported: a fork of one that has nothing of Fenchel in it.

A process that imports numba and scikit-learn takes longer to start than all that the tests of the cache do in it.
"""

import json
import os
import subprocess
import sys

#: reads a request per line, runs it in a fork, and answers with the status of its exit
_SERVER = """
import json, os, sys, traceback, warnings
import joblib, numba, numpy, scipy.optimize, scipy.sparse, sklearn.utils.multiclass, sklearn.utils.validation
for name in sys.argv[1:]:
    __import__(name)
numba.njit(lambda x: x)(1.0)  # fills the registries of the compiler
assert not any(name.partition(".")[0] == "fenchel" for name in sys.modules)

def child(request):
    for place, stream in ((1, "stdout"), (2, "stderr")):
        os.dup2(os.open(request[stream], os.O_WRONLY | os.O_CREAT | os.O_TRUNC), place)
    os.environ.update(request["environment"])
    sys.path[:0] = request["path"]
    sys.argv = ["-c", *request["arguments"]]
    if request["warnings"]:
        warnings.simplefilter(request["warnings"])
    try:
        exec(compile(request["code"], "<string>", "exec"), sys.modules["__main__"].__dict__)
    except BaseException:
        traceback.print_exc()
        return 1
    return 0

for line in sys.stdin:
    request = json.loads(line)
    process = os.fork()
    if process == 0:
        status = child(request)
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    print(json.dumps(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])), flush=True)
"""


class ForkServer:
    """Runs code as ``python -c`` would; ``settings`` are environment variables that numba reads when it is imported.

    ``modules`` are further names to import before the fork.
    """

    def __init__(self, *modules, **settings):
        self._server = subprocess.Popen(
            [sys.executable, "-c", _SERVER, *modules],
            env={**os.environ, "PYTHONPATH": "", **settings},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, code, folder, *, path=(), warnings=None, arguments=(), **environment):
        """The status of the exit, and what went to stdout and stderr, which lie in this folder meanwhile."""
        streams = {name: folder / name for name in ("stdout", "stderr")}
        request = {"code": code, "path": [str(one) for one in path], "warnings": warnings, "arguments": list(arguments)}
        request |= {name: str(file) for name, file in streams.items()} | {"environment": environment}
        print(json.dumps(request), file=self._server.stdin, flush=True)
        status = json.loads(self._server.stdout.readline())
        return status, *(file.read_text(encoding="utf-8") for file in streams.values())

    def close(self):
        self._server.stdin.close()
        self._server.wait()
        self._server.stdout.close()
